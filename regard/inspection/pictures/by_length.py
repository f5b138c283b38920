"""Quality by the length of the source: where a bottleneck shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from regard.base.errors import UsageError
from regard.inspection.pictures.style import INK, QUIET, new_figure
from regard.metrics.quality import corpus_scores

COLORS = ("#3b4a9b", "#c8642d", "#5b9aa0", "#8a5a9e", "#7a7d8c", "#a23b4e")


@dataclass(frozen=True)
class Group:
    """The sentences whose sources have from `first` to `last` words."""

    first: int
    last: int
    rows: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.first}–{self.last}" if self.first != self.last else str(self.first)


def by_length(sources: Sequence[str], groups: int = 6) -> list[Group]:
    """About equally many sentences in each group, the shortest first; a length is never split."""
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
    """BLEU of each group for itself."""
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
    """How much of another model's BLEU each is, in percent; a bottleneck makes it fall where sources are long."""
    return [100 * one / other if other else float("nan") for one, other in zip(values, of, strict=True)]


def length_picture(groups: Sequence[Group], scores: Mapping[str, Sequence[float]], title: str = "") -> Figure:
    """A line for each model: BLEU over the length of the source; below, how much of the first model's it is."""
    (_, most), *others = scores.items()
    figure = new_figure(7.2, 6.4 if others else 4.2)
    heights = [2, 1] if others else [1]
    axes, *below = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    colors = dict(zip(scores, COLORS * (len(scores) // len(COLORS) + 1), strict=False))
    for name, values in scores.items():
        axes.plot(range(len(groups)), values, marker="o", color=colors[name], label=name, linewidth=2)
    for name, values in others:
        below[0].plot(range(len(groups)), percent_of(values, most), marker="o", color=colors[name], linewidth=2)
    for one, label in zip((axes, *below), ("BLEU", "% of the first"), strict=False):
        one.spines[["top", "right"]].set_visible(False)
        one.grid(axis="y", color=QUIET, alpha=0.25)
        one.set(ylabel=label, ylim=(0, 1.05 * one.get_ylim()[1]))
    axes.set_title(title or "BLEU by the length of the source", loc="left", color=INK, fontweight="bold")
    axes.legend(frameon=False)
    (axes, *below)[-1].set_xticks(range(len(groups)), [str(group) for group in groups])
    (axes, *below)[-1].set_xlabel("words in the source")
    return figure
