"""How an encoder reads a text: the attention of every layer and head, what it moves, and what each head does.

A page for 512 tokens and 144 heads must stay small: of each token's weights the largest are kept, as bytes.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.record import record
from regard.base.errors import UsageError
from regard.data.framed import batch_of
from regard.data.subwords.tokenizer import SPECIALS
from regard.decoding.classifier import Classifier
from regard.decoding.filler import Filler
from regard.decoding.predictor import Predictor, TextReader
from regard.decoding.scorer import evaluating
from regard.decoding.tagger import Tagger
from regard.inspection.explanation.head_effects import head_effects, moved_lengths, moved_shares
from regard.inspection.explanation.packed_weights import kept, pack_weights
from regard.inspection.explanation.tokens import shown
from regard.inspection.page.standalone import standalone


@dataclass(frozen=True)
class ReadLayer:
    """The attention of a layer: weights, what they move, and what the answer loses without each head."""

    name: str
    weights: Float[Tensor, "heads query key"]
    moved: Float[Tensor, "heads query key"]
    """weight times the length of the value after the output projection, each row scaled to sum to one"""
    effects: tuple[float, ...] = ()
    """the log-probability of the answer minus that without each head; empty where it was not measured"""


@dataclass(frozen=True)
class ReadText:
    """A text, the model's answer, and the attention of all layers."""

    text: str
    tokens: tuple[str, ...]
    answer: str
    layers: tuple[ReadLayer, ...]
    model: str = ""

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "text": self.text,
            "model": self.model,
            "answer": self.answer,
            "tokens": list(self.tokens),
            "kept": kept(len(self.tokens)),
            "layers": [
                {
                    "name": layer.name,
                    "heads": len(layer.weights),
                    "effects": [round(one, 5) for one in layer.effects],
                    "weights": pack_weights(layer.weights),
                    "moved": pack_weights(layer.moved),
                }
                for layer in self.layers
            ],
        }

    def to_html(self, title: str) -> str:
        """A page that shows it offline."""
        return standalone(self.to_dict(), title, page="encoder")


def look_at_reading(reader: TextReader, text: str, *, effects: bool = True) -> ReadText:
    """Read a text with an encoder: a classifier, a tagger, a filler of masks or a model of sentence vectors.

    `effects` measures each head by the answer without it, a run of the model for each.
    """
    rows = _rows(reader, text)
    inputs = batch_of([rows]).to(next(reader.model.parameters()).device).parts
    with evaluating([reader.model]):
        with record(reader.model) as seen, moved_lengths(reader.model) as lengths:
            logits = reader.model(*inputs)
        answer, chance = _answer(reader, text, logits)
        measured = head_effects(reader.model, inputs, chance) if effects else {}
    layers = []
    if not lengths:
        raise UsageError("inspect: this model has no attention heads")
    for name, length in lengths.items():
        weights = seen[name][0][0].float().cpu()
        told = tuple(measured[name].tolist()) if effects else ()
        layers.append(ReadLayer(name, weights, moved_shares(weights, length[0].float().cpu()), told))
    pieces = [_shown(reader, token) for token in rows[0]]
    return ReadText(text, tuple(pieces), answer, tuple(layers))


def _rows(reader: TextReader, text: str) -> tuple[list[int], list[int]]:
    if isinstance(reader, Filler):
        return reader.frame.row([reader.tokens(text)])
    if isinstance(reader, Tagger):
        return reader.line_row(text)
    return reader.frame.rows(reader.subwords, [text.split("\t")])[0]


def _answer(reader: TextReader, text: str, logits: Tensor) -> tuple[str, Any]:
    """The answer in words, and the log-probability that outputs give it."""
    if isinstance(reader, Predictor):
        told = reader.predict([text])[0].text.replace("\t", ", ")
    else:
        told = "a vector of the text"
    if isinstance(reader, Classifier):
        best = logits[0].argmax()
        return told, lambda made: made.log_softmax(-1)[:, best]
    if isinstance(reader, Tagger):
        best = logits[0].argmax(-1)
        return told, lambda made: made.log_softmax(-1)[:, torch.arange(len(best)), best].mean(-1)
    if isinstance(reader, Filler):
        at = [place + 1 for place, token in enumerate(reader.tokens(text)) if token == reader.subwords.mask]
        best = reader.model.output(logits[0, at]).argmax(-1)
        return told, partial(_of_masks, reader, at, best)
    whole = logits[0]
    return told, lambda made: torch.cosine_similarity(made, whole[None], dim=-1)


def _of_masks(reader: Filler, at: list[int], best: Tensor, made: Tensor) -> Tensor:
    chances = reader.model.output(made[:, at]).log_softmax(-1)
    return chances[:, torch.arange(len(at)), best].mean(-1)


def _shown(reader: TextReader, token: int) -> str:
    return SPECIALS[token] if token < len(SPECIALS) else shown(reader.subwords, token).text
