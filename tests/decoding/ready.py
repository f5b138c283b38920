"""A small translator, and the file that it is kept ready for."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.decoding import ready_file
from regard.decoding.ready_file import ready_place
from regard.decoding.translator import Translator
from regard.decoding.workers import one_core
from regard.models.transformer import Transformer
from regard.native.kernels import kernels
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


def use_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep models ready in this folder; skip the test where there are no compiled kernels."""
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    if kernels() is None or ready_place(model_file(folder)) is None:
        pytest.skip("there are no compiled kernels here")
    monkeypatch.setattr(ready_file, "cache_folder", lambda: folder / "cache")


def answers(one: Any, texts: list[str]) -> Any:
    """What it translates texts to, on one core."""
    with one_core():
        return one.translate(texts)
