"""Model files to export: small, of every kind, and one Transformer that has learned something."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import config
from torch.nn.functional import cross_entropy

from regard.base.config import to_dict
from regard.data.pairs import collate
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import EOS, Subwords
from regard.decoding.shortlist import Shortlist
from regard.models.model import Design
from regard.models.transformer import Transformer
from regard.models.writer import Writer
from regard.runs.artifact import Artifact, save_artifact
from tests.apps import toy
from tests.data.examples import subwords

SMALL = {"width": 16, "feedforward": 32, "heads": 4, "encoder_layers": 2, "decoder_layers": 3, "dropout": 0.0}
TOY = toy.pairs(60)


def write(path: Path, design: Design, *, known: Subwords | None = None, model=None, **extras: object) -> Path:
    """A model file of this design; with fresh weights that prefer some tokens clearly, unless a model is given."""
    known = known or subwords()
    name = type(design).__module__.rpartition(".")[2]
    if model is None:
        model = design.build(dict.fromkeys(design.needs, len(known)))
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.3 * torch.randn_like(weight)  # biases and norms are to be seen too
    texts = {"text": known.to_json()} if name == "gpt" else dict.fromkeys(("source", "target"), known.to_json())
    artifact = Artifact(
        config={"model": {"name": name, **to_dict(design)}},
        task="language" if name == "gpt" else "translate",
        sizes=dict.fromkeys(design.needs, len(known)),
        weights=model.state_dict(),
        tokenizers=texts,
        extras=extras,
    )
    save_artifact(path, artifact)
    return path


def write_trained(path: Path) -> Path:
    """A Transformer that translates the toy language."""
    design, known, model = trained()
    alignment = {"heads": [["decoder.layers.1.cross", 2], ["decoder.layers.1.cross", 0]], "shift": 1}
    return write(path, design, known=known, model=model, alignment=alignment)


def shortlist(top: int = 1, frequent: int = 2) -> Shortlist:
    """Likely translations of the toy language's words."""
    _, known, _ = trained()
    sides = [[[*ids, EOS] for ids in known.encode_batch(list(side))] for side in zip(*TOY, strict=True)]
    return Shortlist.learn(list(zip(*sides, strict=True)), len(known), len(known), top=top, frequent=frequent)


@cache
def trained() -> tuple[Transformer, Subwords, Writer]:
    """Some seconds of training, once."""
    torch.manual_seed(1)
    known = learn_subwords([text for pair in TOY for text in pair], SubwordSettings(kind="word", size=100))
    design = Transformer(
        **SMALL | {"width": 32, "feedforward": 64, "encoder_layers": 1, "decoder_layers": 2}, norm_place="before"
    )
    model = design.build(dict.fromkeys(design.needs, len(known)))
    sides = [[np.array([*ids, EOS]) for ids in known.encode_batch(list(side))] for side in zip(*TOY, strict=True)]
    batch = collate(*sides)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with unchecked():
        for _ in range(100):
            logits = model(batch.source, batch.source_lengths, batch.target_in)
            loss = cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=0)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return design, known, model.eval()


@contextmanager
def unchecked() -> Iterator[None]:
    """No checks of shapes inside: what is traced for ONNX has tensors where numbers are expected."""
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", False)
