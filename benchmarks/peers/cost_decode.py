"""Translate groups of sentences of some size with a beam of some width, beside the matrix products of it alone."""

import sys
import time
from pathlib import Path
from typing import Any

import torch
from driver import serve

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from products import Sizes, Workbench, decoding

import regard
from regard.base.files import read_lines
from regard.decoding.strategies.beam import Beam
from regard.runs.artifact import load_artifact

artifact = load_artifact(sys.argv[1])
translator = regard.load(sys.argv[1])
texts = sorted(read_lines(sys.argv[2]), key=len)
bench = Workbench()


def sizes() -> Sizes:
    """Those of the model."""
    design: Any = artifact.design()
    names = ("encoder_layers", "decoder_layers", "width", "feedforward", "heads")
    return Sizes(**{name: getattr(design, name) for name in names}, vocabulary=artifact.vocabularies[1])


def group(batch: int, beam: int) -> dict[str, float]:
    """One group of sentences of middling length: how long it takes, and how long its products take."""
    first = (len(texts) - batch) // 2
    some = texts[first : first + batch]
    began = time.perf_counter()
    found = translator.translate(some, strategy=Beam(size=beam))
    seconds = time.perf_counter() - began
    source = max(len(ids) for ids in translator.source.encode_batch(some)) + 1
    target = round(sum(len(one.n_best[0].tokens) + 1 for one in found) / len(found))
    products = decoding(sizes(), batch, beam, source, target)
    with torch.inference_mode():
        began = time.perf_counter()
        bench.do(products)
    return {"seconds": seconds, "limit": time.perf_counter() - began}


if __name__ == "__main__":
    serve(group=group)
