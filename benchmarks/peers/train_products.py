"""The matrix products of a training step alone: the limit. Other sizes than the usual may be given as JSON.

With `apart`, each thread does the products of its own pairs.
"""

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from training import FEEDFORWARD, HEADS, LAYERS, WIDTH, Batch, read_batches, turns

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from products import Product, Shape, Sizes, Workbench, in_threads, training


def shares(sizes: Sizes, batch: Batch, parts: int) -> list[list[Product]]:
    """The products of a step, shared among so many threads by pairs."""
    found = []
    for part in range(parts):
        mine = slice(part, None, parts)
        lengths = batch.source_lengths[mine], batch.target_lengths[mine]
        widths = batch.source.shape[1], batch.target_out.shape[1]
        shape = Shape(len(lengths[0]), *widths, *(int(side.sum()) for side in lengths))
        found.append(training(sizes, shape))
    return found


def main() -> None:
    """Do the products of each batch that is asked for."""
    batches, vocabulary = read_batches(sys.argv[1])
    apart = sys.argv[2] == "apart"
    usual = Sizes(LAYERS, LAYERS, WIDTH, FEEDFORWARD, HEADS, vocabulary)
    sizes = replace(usual, **json.loads(sys.argv[3])) if len(sys.argv) > 3 else usual
    parts = torch.get_num_threads() if apart else 1
    benches = [Workbench() for _ in range(parts)]

    def step(batch: Batch) -> float:
        lists = shares(sizes, batch, parts)
        work = [partial(bench.do, products) for bench, products in zip(benches, lists, strict=True)]
        if apart:
            in_threads(work)
        else:
            work[0]()
        return float(sum(product.flops for products in lists for product in products))

    turns(batches, step)


if __name__ == "__main__":
    main()
