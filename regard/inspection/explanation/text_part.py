"""The explanation of a text, or of a part that was translated on its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.data.links import Links
from regard.data.subwords.tokenizer import Subwords
from regard.data.word_spans import Span, word_spans
from regard.inspection.explanation.beam_path import Branch, Path
from regard.inspection.explanation.copied import Copied
from regard.inspection.explanation.packed_weights import kept, pack_weights
from regard.inspection.explanation.tokens import Token, shown


@dataclass(frozen=True)
class ShownAlternative:
    """An alternative token at a position."""

    token: Token
    log_probability: float
    prefix: str
    """the translation up to and including this token, as a prefix for `explain`"""


@dataclass(frozen=True)
class Written:
    """A token of the translation, with its log-probability and alternatives."""

    token: Token
    log_probability: float
    forced: bool
    """it was given, not found by the search"""
    alternatives: tuple[ShownAlternative, ...]
    copied: Copied | None = None
    """whether it was copied from the source, of a model that can"""


@dataclass(frozen=True, eq=False)
class Layer:
    """One attention layer, with the entropy of each head in bits."""

    name: str
    weights: Float[Tensor, "heads query key"]
    entropy: tuple[float, ...]
    moved: Float[Tensor, "heads query key"] | None = None
    """each weight times the length of the value that it fetches, rows scaled to sum to one (`head_effects`)"""
    effects: tuple[float, ...] = ()
    """what each head adds to the log-probability of the answer; empty where it was not measured"""


@dataclass(frozen=True, eq=False)
class TextPart:
    """A text that was translated as one: a sentence, or a part of one that is longer than the model's limit.

    Words, those of links too, are numbered within the part. A part that was translated, but not looked into, has no
    tokens, links and layers.
    """

    texts: tuple[str, str]
    score: float
    """the sum of the log-probabilities of the target tokens and the end"""
    source: tuple[Token, ...] = ()
    target: tuple[Written, ...] = ()
    layers: tuple[Layer, ...] = ()
    """cross-attention"""
    encoder: tuple[Layer, ...] = ()
    """self-attention of the encoder; empty unless asked for"""
    decoder: tuple[Layer, ...] = ()
    """self-attention of the decoder; empty unless asked for"""
    links: Links = ()
    path: Path = ()
    """the path of the search; empty if the translation was given"""
    words: tuple[tuple[Span, ...], tuple[Span, ...]] | None = None
    """where the words of each side stand; those of `word_spans`, unless some share a token"""
    spelling: Subwords | None = None
    """the subwords that decode the tokens of the path"""

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of words of each side."""
        return len(self.spans(0)), len(self.spans(1))

    def spans(self, side: int) -> Sequence[Span]:
        """Where the words of a side stand."""
        return word_spans(self.texts[side]) if self.words is None else self.words[side]

    def shown(self, side: int) -> list[str]:
        """The words of a side."""
        return [self.texts[side][start:end] for start, end in self.spans(side)]

    def spaced(self, side: int) -> list[bool]:
        """Whether white space stands before each word; before the first, the part's gap says it."""
        return [start == 0 or self.texts[side][start - 1].isspace() for start, _ in self.spans(side)]

    def to_dict(
        self, source: int = 0, target: int = 0, gaps: tuple[str, str] = ("", ""), *, small: bool = False
    ) -> dict[str, Any]:
        """Plain JSON without the links.

        `source` and `target` are the numbers that its words start with, `gaps` the white space before it on each side;
        `small` packs the weights of a long text, for a page (`layer_as_dict`).
        """
        return {
            "texts": dict(zip(("source", "target"), self.texts, strict=True)),
            "gaps": dict(zip(("source", "target"), gaps, strict=True)),
            "source": [_token_as_dict(token, source) for token in self.source],
            "target": [_written_as_dict(written, target, small) for written in self.target],
            "layers": [layer_as_dict(layer, small=small) for layer in self.layers],
            "encoder": [layer_as_dict(layer, small=small) for layer in self.encoder],
            "decoder": [layer_as_dict(layer, small=small) for layer in self.decoder],
            "path": [
                [_branch_as_dict(branch, self.spelling) for branch in step] for step in self.path if self.spelling
            ],
        }


def _token_as_dict(token: Token, first: int) -> dict[str, Any]:
    return {"text": token.text, "starts": token.starts, "word": None if token.word is None else first + token.word}


def _written_as_dict(written: Written, first: int, small: bool) -> dict[str, Any]:
    return {
        **_token_as_dict(written.token, first),
        "log_probability": round(written.log_probability, 4),
        "forced": written.forced,
        "alternatives": [
            {
                "text": other.token.text,
                "starts": other.token.starts,
                "log_probability": round(other.log_probability, 4),
                **({} if small else {"prefix": other.prefix}),  # a page that is a file cannot ask for it
            }
            for other in written.alternatives
        ],
        **({} if written.copied is None else {"copied": _copied_as_dict(written.copied)}),
    }


def _copied_as_dict(copied: Copied) -> dict[str, Any]:
    sources = [{"token": at, "share": round(share, 3)} for at, share in copied.sources]
    return {"gate": round(copied.gate, 3), "share": round(copied.share, 3), "sources": sources}


def entropy(weights: Float[Tensor, "*heads query key"]) -> Float[Tensor, "*heads"]:
    """Attention entropy in bits: the mean over a head's rows of H(w) = -Σ_j w_j log₂ w_j, rows normalized to 1.

    0 bits: one token at a time. log₂ n bits: all n tokens alike.
    """
    shares = weights / weights.sum(-1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
    return -torch.special.xlogy(shares, shares).sum(-1).mean(-1) / np.log(2)


def measured_layer(
    name: str,
    weights: Float[Tensor, "heads query key"],
    moved: Float[Tensor, "heads query key"] | None = None,
    effects: Float[Tensor, "heads"] | None = None,
) -> Layer:
    """A layer with the entropies of its heads."""
    told = () if effects is None else tuple(effects.tolist())
    return Layer(name, weights, tuple(entropy(weights).tolist()), moved, told)


def layer_as_dict(layer: Layer, *, small: bool = False) -> dict[str, Any]:
    """A layer ready for JSON: of each head the entropy, the weights, what they move, and its effect if measured.

    `small` is for pages: of a long text, the largest weights of each row are packed, all heads together.
    """
    rows, columns = layer.weights.shape[1:]
    pack = small and kept(columns) < columns
    views = {"weights": layer.weights} | ({} if layer.moved is None else {"moved": layer.moved})
    heads: list[dict[str, Any]] = [{"entropy": round(bits, 3)} for bits in layer.entropy]
    for head, effect in zip(heads, layer.effects, strict=False):
        head["effect"] = round(effect, 5)
    if not pack:
        for name, view in views.items():
            for head, weights in zip(heads, view, strict=True):
                head[name] = _rounded(weights)
        return {"name": layer.name, "heads": heads}
    shape = {"rows": rows, "columns": columns, "kept": kept(columns)}
    return {
        "name": layer.name,
        "heads": heads,
        "packed": shape | {name: pack_weights(view) for name, view in views.items()},
    }


def _branch_as_dict(branch: Branch, spelling: Subwords) -> dict[str, Any]:
    token = shown(spelling, branch.token)
    return {
        "text": token.text,
        "starts": token.starts,
        "parent": branch.parent,
        "becomes": branch.becomes,
        "log_probability": round(branch.log_probability, 4),
        "score": round(branch.score, 4),
        "finished": branch.finished,
        "chosen": branch.chosen,
    }


def _rounded(weights: Tensor) -> list[list[float]]:
    """Weights with three decimals; whole numbers as int, which makes the file smaller."""
    rows = weights.double().round(decimals=3).tolist()
    return [[int(cell) if cell in (0, 1) else round(cell, 3) for cell in row] for row in rows]
