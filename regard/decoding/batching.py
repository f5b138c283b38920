"""Batching for decoding: sentences of similar length together, results in the order of the input."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from regard.base.errors import check_at_least
from regard.decoding.workers import side_by_side

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_WORTH_A_WORKER = 256
"""the fewest tokens of a batch for which a second worker pays off"""
_TURNS = 4


def batches(lengths: Sequence[int], tokens: int, sentences: int | None = None) -> list[list[int]]:
    """The indices of the items of each batch, the longest items first.

    A batch has at most `tokens` tokens, padding included, and at most `sentences` sentences; an item that is longer
    than the whole budget is a batch by itself.
    """
    check_at_least("batches", 1, tokens=tokens, sentences=1 if sentences is None else sentences)
    made: list[list[int]] = []
    room = 0
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if not made or len(made[-1]) >= room:
            room = max(1, tokens // max(1, lengths[at]))
            room = room if sentences is None else min(room, sentences)
            made.append([])
        made[-1].append(at)
    return made


def in_batches(
    items: Sequence[_Item],
    lengths: Sequence[int],
    work: Callable[[list[_Item]], Sequence[_Result]],
    tokens: int,
    sentences: int | None = None,
    workers: int = 1,
) -> list[_Result]:
    """Apply `work` to the items batch by batch, `workers` batches at a time; returns the results in order.

    Batches are small enough for every worker to get several, so that all end at about the same time.
    """
    if workers > 1:
        tokens = max(1, min(tokens, max(_WORTH_A_WORKER, -(-sum(lengths) // (_TURNS * workers)))))
    made = batches(lengths, tokens, sentences)
    found = side_by_side(lambda batch: work([items[at] for at in batch]), made, workers)
    results: dict[int, _Result] = {}
    for batch, own in zip(made, found, strict=True):
        results.update(zip(batch, own, strict=True))
    return [results[at] for at in range(len(items))]
