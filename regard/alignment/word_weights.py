"""Attention weights between words: teacher forcing on given pairs, in batches, with subword weights merged."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.alignment.head_choice import HeadChoice
from regard.attention.record import attention_layers, record
from regard.base.errors import UsageError
from regard.data.pairs import Batch, collate
from regard.data.subwords.token_spans import token_spans, word_shares
from regard.data.subwords.tokenizer import EOS, Subwords, words
from regard.data.subwords.word_numbers import word_numbers
from regard.data.word_spans import word_spans, words_of
from regard.decoding.batching import in_batches
from regard.decoding.scorer import evaluating
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator
from regard.models.writer import Writer

Weights = NDArray[np.float32]
Grain = Literal["words", "segments", "tokens"]
"""the unit that is linked: what white space separates, the words of `word_spans`, or single tokens"""


def make_pairs(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[Pair]:
    """Texts and their translations as token ids of this translator."""
    read, said = translator.encode_pairs(sources, targets)
    rows = zip(sources, read, targets, said, strict=True)
    return [Pair(source, tuple(ids), target, tuple(others)) for source, ids, target, others in rows]


def word_weights(
    translator: Translator,
    pairs: Sequence[Pair],
    choices: Sequence[HeadChoice],
    batch_tokens: int = 1024,
    grain: Grain = "words",
) -> list[Weights]:
    """For each pair the weight of each target word on each source word, [choices, target words, source words].

    The weights of the source tokens of a word are summed and those of its target tokens averaged. The weight on `</s>`
    belongs to no word, so the weights of a target word sum to at most 1. Only the chosen heads are recorded. `grain`
    says what counts as a word.
    """
    model = translator.models[0]

    def members(subwords: Subwords, text: str, ids: Sequence[int]) -> Weights:
        if grain == "segments":
            return word_shares(token_spans(subwords, text, ids), word_spans(text))
        return _members(word_numbers(subwords, text, ids) if grain == "words" else np.arange(len(ids)))

    def work(some: list[Pair]) -> list[Weights]:
        batch = collate(*([np.array([*ids, EOS]) for ids in side] for side in zip(*map(_ids, some), strict=True)))
        spelled = [translator.opened(pair.source) for pair in some]
        both = list(zip(spelled, some, strict=True))
        sources = [members(own.source, pair.source, pair.source_ids) for own, pair in both]
        targets = [members(own.target, pair.target, pair.target_ids) for own, pair in both]
        seen = _seen(model, batch.to(next(model.parameters()).device), choices).cpu()
        merged = merge(seen, _padded(sources, batch.source.shape[1]), _padded(targets, seen.shape[2])).numpy()
        sizes = [tuple(map(len, linked(translator, pair, grain)))[::-1] for pair in some]
        return [own[:, :rows, :columns] for own, (rows, columns) in zip(merged, sizes, strict=True)]

    lengths = [max(len(pair.source_ids), len(pair.target_ids)) + 1 for pair in pairs]
    return in_batches(pairs, lengths, work, batch_tokens)


def linked(translator: Translator, pair: Pair, grain: Grain = "words") -> tuple[list[str], list[str]]:
    """The words, or tokens, that are linked on each side of a pair."""
    if grain == "words":
        return words(pair.source), words(pair.target)
    if grain == "segments":
        return words_of(pair.source), words_of(pair.target)
    spelled = translator.opened(pair.source)
    return (
        [spelled.source.pieces[number] for number in pair.source_ids],
        [spelled.target.pieces[number] for number in pair.target_ids],
    )


def merge(
    weights: Float[Tensor, "batch choices target source"],
    source_shares: Float[Tensor, "batch source source_words"],
    target_shares: Float[Tensor, "batch target target_words"],
) -> Float[Tensor, "batch choices target_words source_words"]:
    """Word weights from token weights: the sum over a word's source tokens, the mean over its target tokens.

    A token that is part of several words counts for each by its share. One without any, such as `</s>` and padding,
    belongs to no word.
    """
    rows = target_shares / target_shares.sum(1, keepdim=True).clamp(min=1e-6)
    return rows.transpose(1, 2)[:, None] @ (weights @ source_shares[:, None])


def _seen(model: Writer, batch: Batch, choices: Sequence[HeadChoice]) -> Float[Tensor, "batch choices target source"]:
    """The mean weights over the heads of each choice, at its shift, for all target tokens but `</s>`."""
    asked: dict[str, list[int]] = {}
    for choice in choices:
        for layer, head in choice.heads:
            own = asked.setdefault(layer, [])
            if head not in own:
                own.append(head)
    recorded: dict[str, list[Tensor]] = {}
    with evaluating([model]), ExitStack() as recordings, suppress(_Enough):
        for layer, heads in asked.items():
            recorded[layer] = recordings.enter_context(record(model, layer, heads=heads))[layer]
        recordings.enter_context(_stopping(model, recorded, batch.target_in.shape[1]))
        model.hidden(batch.source, batch.source_lengths, batch.target_in)
    found: dict[tuple[str, int], Tensor] = {}
    for layer, heads in asked.items():
        weights = torch.cat(recorded[layer], dim=2).float()  # all rows at once, or one call for each step
        if weights.shape[3] != batch.source.shape[1]:
            raise UsageError(f"alignment: {layer} blends source tokens, so nobody can say which of them it looks at")
        found |= {(layer, head): weights[:, at] for at, head in enumerate(heads)}
    rows = batch.target_in.shape[1] - 1
    return torch.stack(
        [
            torch.stack([found[head] for head in choice.heads]).mean(0)[:, choice.shift : choice.shift + rows]
            for choice in choices
        ],
        dim=1,
    )


class _Enough(Exception):
    """Raised when all requested weights are recorded."""


@contextmanager
def _stopping(model: Writer, recorded: Mapping[str, list[Tensor]], rows: int) -> Iterator[None]:
    """Raise _Enough once every recorded layer has seen so many rows: the layers above are not needed."""

    def stop(*_: object) -> None:
        if all(sum(weights.shape[2] for weights in calls) >= rows for calls in recorded.values()):
            raise _Enough

    readings = attention_layers(model)
    handles = [readings[layer].register_forward_hook(stop) for layer in recorded]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _members(numbers: NDArray[np.int64]) -> Weights:
    """An indicator matrix: 1 where a token is part of a word."""
    most = int(numbers.max()) + 1 if numbers.size else 0
    return (numbers[:, None] == np.arange(most)).astype(np.float32)


def _padded(shares: Sequence[Weights], length: int) -> Float[Tensor, "batch length words"]:
    most = max(own.shape[1] for own in shares)
    padded = np.zeros((len(shares), length, most), dtype=np.float32)
    for row, own in zip(padded, shares, strict=True):
        row[: own.shape[0], : own.shape[1]] = own
    return torch.from_numpy(padded)


def _ids(pair: Pair) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return pair.source_ids, pair.target_ids
