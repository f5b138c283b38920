"""Decoding with the compiled kernels and without: processor time of one thread, in turns, and what differs.

    python benchmarks/kernels.py runs/en-de test.en [--sentences 200] [--alone 15] [--rounds 5]

Without the kernels everything is computed by torch, as where there is no compiler.
"""

import argparse
import gzip
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measure import machine, print_table, quartiles, spread

import regard
from regard.decoding import topk
from regard.decoding.packed import layer
from regard.decoding.strategies.beam import Beam
from regard.native.kernels import Kernels, kernels


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("texts", type=Path)
    parser.add_argument("--sentences", type=int, default=200, help="how many are translated together")
    parser.add_argument("--alone", type=int, default=15, help="how many are translated one by one")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    made = kernels()
    if made is None:
        raise SystemExit("there are no kernels here: no C compiler, or REGARD_NATIVE=0")
    opened = gzip.open if options.texts.suffix == ".gz" else open
    with opened(options.texts, "rt", encoding="utf-8") as file:
        texts = [line.strip() for line in file][: options.sentences]
    translator = regard.load(options.model, engine="torch")
    rows = []
    for beam in (1, 5):
        search = partial(translator.translate, strategy=Beam(size=beam, n_best=beam))
        rows.append(row(f"beam {beam}, together", partial(search, texts), made, options.rounds))
        rows.append(row(f"beam {beam}, alone", partial(apart, search, texts[: options.alone]), made, options.rounds))
    print(f"{machine()}, kernels for {made.kind}")
    print_table("Compiled kernels", rows)


def apart(search: Callable[[list[str]], list[Any]], texts: list[str]) -> list[Any]:
    """Each text translated by itself."""
    return [search([text])[0] for text in texts]


def row(name: str, work: Callable[[], list[Any]], made: Kernels, rounds: int) -> dict[str, str]:
    """What the kernels save, and whether they change anything."""
    times: dict[bool, list[float]] = {True: [], False: []}
    found: dict[bool, list[Any]] = {}
    for at in range(rounds + 1):
        for native in (at % 2 == 0, at % 2 == 1):
            topk.kernels = layer.kernels = lambda native=native: made if native else None
            began = time.process_time()
            found[native] = work()
            if at:
                times[native].append(time.process_time() - began)
    count = len(found[True])
    pairs = list(zip(found[True], found[False], strict=True))
    other = sum([best.text for best in a.n_best] != [best.text for best in b.n_best] for a, b in pairs)
    return {
        "sentences": f"{count} {name}",
        "torch": f"{quartiles(times[False])[0] / count * 1e3:.2f} ms each",
        "kernels": f"{quartiles(times[True])[0] / count * 1e3:.2f} ms each",
        "faster by": f"{spread(quartiles([a / b for a, b in zip(times[False], times[True], strict=True)]), 2)} ×",
        "other n-best": str(other),
        "scores differ by": f"{max(abs(a.score - b.score) for a, b in pairs):.1e}",
    }


if __name__ == "__main__":
    main()
