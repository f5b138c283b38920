"""The distribution over the next word of a language model.

A model predicts tokens, and a word may have several: p(word) = Π p(token) · p(the word ends there), where a word ends
before a token that starts another one, before punctuation, and before the end of the line. The likeliest words are
found by a beam search over the tokens of one word.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.base.errors import check_at_least
from regard.data.subwords.tokenizer import BOS, EOS, MARK, PAD, UNK, Subwords
from regard.decoding.generator import Generator
from regard.decoding.scorer import evaluating, log_mean, most_positions

END_OF_LINE = "</s>"
_BEAM = 64
_LEAST = log(1e-9)
_LONGEST = 24
"""tokens of a word"""
_Beginning = tuple[float, tuple[int, ...]]
"""the log-probability of the first tokens of a word, and these"""


@dataclass(frozen=True)
class NextWord:
    """A word that may come next; the end of the line is `</s>`."""

    text: str
    log_probability: float
    tokens: tuple[int, ...]

    @property
    def probability(self) -> float:
        """p(word | text)."""
        return exp(self.log_probability)


def next_words(generator: Generator, text: str, count: int = 10) -> list[NextWord]:
    """The likeliest next words after a text, the best first. A word that continues the last one starts with `‑`."""
    check_at_least("next", 1, count=count)
    start = generator.subwords.encode(text)
    ends = _ends(generator.subwords)
    found: dict[str, NextWord] = {}
    alive: list[_Beginning] = [(0.0, ())]
    for _ in range(_LONGEST):
        chances = log_next(generator, [[*start, *tokens] for _, tokens in alive])
        chances[:, [PAD, UNK, BOS]] = -torch.inf
        grown: list[_Beginning] = []
        for beginning, own in zip(alive, chances, strict=True):
            word = _closed(generator.subwords, beginning, own, ends)
            found[word.text] = _either(found.get(word.text), word)
            grown += _longer(beginning, own, ends if word.text != END_OF_LINE else None)
        best = sorted(found.values(), key=lambda word: -word.log_probability)[:count]
        worst = best[-1].log_probability if len(best) == count else _LEAST
        alive = [one for one in sorted(grown, reverse=True)[:_BEAM] if one[0] > max(worst, _LEAST)]
        if not alive:
            break
    return best


def _closed(subwords: Subwords, beginning: _Beginning, own: Tensor, ends: Tensor) -> NextWord:
    """The word that ends after its first tokens; before there is a letter, the end of the line."""
    before, tokens = beginning
    if not subwords.decode(tokens).strip():
        return NextWord(END_OF_LINE, before + float(own[EOS]), (*tokens, EOS))
    return NextWord(_spelled(subwords, tokens), before + float(own[ends].logsumexp(0)), tokens)


def _longer(beginning: _Beginning, own: Tensor, ends: Tensor | None) -> list[_Beginning]:
    """The beginning with each of the likeliest tokens that go on with the word."""
    before, tokens = beginning
    barred = torch.arange(len(own)) == EOS if ends is None else ends
    values, numbers = own.masked_fill(barred, -torch.inf).topk(min(_BEAM, len(own)))
    return [(before + value, (*tokens, at)) for value, at in zip(values.tolist(), numbers.tolist(), strict=True)]


def _either(one: NextWord | None, other: NextWord) -> NextWord:
    """A word that can be spelled by different tokens has the sum of their probabilities."""
    if one is None:
        return other
    return replace(one, log_probability=float(np.logaddexp(one.log_probability, other.log_probability)))


def log_next(generator: Generator, prompts: Sequence[Sequence[int]]) -> Float[Tensor, "prompts vocabulary"]:
    """log p(token | prompt) of every token. All prompts have one length; the learned positions limit what is read."""
    first = generator.models[0].first
    room = most_positions(generator.models) or len(prompts[0]) + 1
    device = next(generator.models[0].parameters()).device
    rows = torch.tensor([[first, *prompt][-room:] for prompt in prompts], device=device)
    with evaluating(generator.models):
        chances = [model(None, None, rows)[:, -1].float().log_softmax(-1) for model in generator.models]
    return log_mean([own.cpu().clone() for own in chances])


def _ends(subwords: Subwords) -> Bool[Tensor, "vocabulary"]:
    """Which tokens end the word before them: those that start a word, punctuation, and `</s>`."""
    ends = []
    for number, piece in enumerate(subwords.pieces):
        if subwords.kind == "wordpiece":
            starts = not piece.startswith("##")
        else:
            starts = piece.startswith(MARK) or not piece[:1].isalnum()
        ends.append(starts or number == EOS)
    return torch.tensor(ends)


def _spelled(subwords: Subwords, tokens: Sequence[int]) -> str:
    """A word by its tokens, with a hyphen in front if it continues the word before it."""
    piece = subwords.pieces[tokens[0]]
    text = subwords.decode(tokens).strip()
    continues = piece.startswith("##") if subwords.kind == "wordpiece" else piece[:1].isalnum()
    return f"‑{text}" if continues else text
