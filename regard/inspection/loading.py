"""From a file, or the folder of a run, to something that translates or writes, and can say which words belong together.

translator = load("runs/en-de")
translator.translate(["Two dogs play in the snow."], alignments=True)[0].alignment
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from regard.alignment.aligner import Aligner
from regard.attention.record import attention_layers
from regard.decoding import loading
from regard.decoding.generator import Generator
from regard.decoding.strategy import Strategy
from regard.decoding.translator import Translator


def load(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | None = None,
    device: str | torch.device = "cpu",
    *,
    precision: str = "float32",
    shortlist: bool = False,
) -> Translator | Generator:
    """The model in a file or run folder; several of them work together as an ensemble, of which the first aligns."""
    return with_aligner(loading.load(paths, strategy, device, precision=precision, shortlist=shortlist))


def with_aligner(loaded: Translator | Generator) -> Translator | Generator:
    """The same, with an aligner where the model attends to its source."""
    if isinstance(loaded, Translator) and loaded.aligner is None and aligns(loaded):
        loaded.aligner = Aligner(loaded)
    return loaded


def aligns(translator: Translator) -> bool:
    """Whether the model attends to its source."""
    return any(name.rpartition(".")[2] == "cross" for name in attention_layers(translator.models[0]))
