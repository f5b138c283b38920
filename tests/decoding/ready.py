"""A small translator, and the file that it is kept ready for."""

from pathlib import Path
from typing import Any

import torch

from regard.decoding.translator import Translator
from regard.decoding.workers import one_core
from regard.models.transformer import Transformer
from tests.data.examples import subwords


def translator(**settings: Any) -> Translator:
    """One whose outputs have all lengths."""
    torch.manual_seed(2)
    known = subwords()
    design = Transformer(encoder_layers=1, decoder_layers=2, width=32, heads=2, feedforward=48, tie="none")
    model = design.build({"source": len(known), "target": len(known)}).eval()
    with torch.no_grad():
        model.output.weight.mul_(3)
        model.output.weight[3].mul_(1.5)
    return Translator(model, known, known, language="en", **settings)


def model_file(folder: Path) -> Path:
    """Any file: it is its content that counts."""
    made = folder / "model.safetensors"
    made.write_bytes(b"a model")
    return made


def answers(one: Any, texts: list[str]) -> Any:
    """What it translates texts to, on one core."""
    with one_core():
        return one.translate(texts)
