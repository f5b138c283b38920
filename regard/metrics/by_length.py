"""BLEU by source length: a model with a fixed-size bottleneck loses quality on long sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.base.errors import UsageError
from regard.metrics.quality import corpus_scores


@dataclass(frozen=True)
class Group:
    """The sentences whose sources have from `first` to `last` words."""

    first: int
    last: int
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.first}–{self.last}" if self.first != self.last else str(self.first)


def by_length(sources: Sequence[str], groups: int = 6) -> list[Group]:
    """Groups of sentences by source length, of about equal size, the shortest first; a length is never split."""
    lengths = [len(source.split()) for source in sources]
    order = sorted(range(len(sources)), key=lengths.__getitem__)
    found: list[Group] = []
    start = 0
    while start < len(order):
        stop = max(start + 1, round(len(order) * (len(found) + 1) / groups))
        while stop < len(order) and lengths[order[stop]] == lengths[order[stop - 1]]:
            stop += 1
        rows = order[start:stop]
        found.append(Group(lengths[rows[0]], lengths[rows[-1]], tuple(sorted(rows))))
        start = stop
    return found


def bleu_by_length(
    outputs: Sequence[str], references: Sequence[str], groups: Sequence[Group], tokenize: str | None = None
) -> list[float]:
    """Corpus BLEU of each group."""
    if len(outputs) != len(references):
        raise UsageError(f"compare: there are {len(outputs):,} outputs, but {len(references):,} references")
    return [
        corpus_scores(
            [outputs[row] for row in group.rows],
            [references[row] for row in group.rows],
            measures=("BLEU",),
            tokenize=tokenize,
        )[0].value
        for group in groups
    ]


def percent_of(values: Sequence[float], of: Sequence[float]) -> list[float]:
    """Each BLEU as a percentage of another model's; with a bottleneck it falls as sources get longer."""
    return [100 * one / other if other else float("nan") for one, other in zip(values, of, strict=True)]
