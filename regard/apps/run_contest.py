"""Show finished runs side by side: what each reaches and costs, the answer in one sentence, and a picture."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.apps.display import bar
from regard.apps.options import chosen_strategy

if TYPE_CHECKING:
    from regard.comparison.run_comparison import ComparedRun, RunComparison
    from regard.metrics.significance import PairedScore


@dataclass(frozen=True)
class ChosenSearch:
    """The decoding strategy of the options, as a function that another process can be given."""

    strategy: str | None
    beam: int | None

    def __call__(self, own: Any) -> Any:
        """The strategy in place of the model's own."""
        return chosen_strategy(self.strategy, self.beam, own)


def show_runs(
    models: Sequence[Path],
    test: Sequence[Path],
    metric: str | None,
    samples: int,
    options: dict[str, Any],
    opening: dict[str, Any],
    out: Path | None,
    as_json: bool,
) -> None:
    """Compare, print tables and the answer in one sentence, and draw."""
    from regard.comparison.run_comparison import compare_runs

    asked: dict[str, Any] = {"test": test, "metric": metric, "samples": samples, "options": options}
    with bar("evaluating" if test else "opening", len(models)) as advance:
        found = compare_runs(models, **asked, advance=advance, **opening)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), ensure_ascii=False, indent=2))
    else:
        _show(found, samples)
    if out is not None:
        _draw(found, out)


def _show(found: "RunComparison", samples: int) -> None:
    what = found.metric if found.tested else f"{found.metric} on dev"
    each = found.compared[0]
    columns = [*([f"{found.what}/s"] if found.what else []), "MiB", "parameters", "steps", f"{each.unit}/s in training"]
    typer.echo("\t".join(["model", what, *columns]))
    for one in found.compared:
        seeds = f" ({len(one.runs)} seeds)" if len(one.runs) > 1 else ""
        speed = [_number(one.per_second, ",.0f" if (one.per_second or 0) >= 100 else ".3g")] if found.what else []
        costs = [_number(one.mib or None, ".0f"), _number(one.parameters, ","), _number(one.steps, ",")]
        typer.echo("\t".join([one.name, f"{one}{seeds}", *speed, *costs, _number(one.training_per_second, ",.0f")]))
    if each.groups:
        _show_groups(found.compared)
    _show_paired(found.paired, samples)
    typer.echo(f"\n{found.verdict}")


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _show_groups(compared: Sequence["ComparedRun"]) -> None:
    """The score overall and by group; after the first also as a percentage of the first's."""
    from regard.metrics.by_length import percent_of

    first, rows = compared[0], [[one.mean, *one.groups.values()] for one in compared]
    typer.echo("\t".join(["\nmodel", "all", *first.groups]))
    for one, (whole, *parts) in zip(compared, rows, strict=True):
        typer.echo("\t".join([one.name, f"{whole:.2f}", *(f"{value:.1f}" for value in parts)]))
        if one is not first:
            shares = [None if isnan(share) else share for share in percent_of([whole, *parts], rows[0])]
            typer.echo("\t".join([f"% of {first.name}", *(_number(share, ".0f") for share in shares)]))


def _show_paired(paired: Iterable["PairedScore"], samples: int) -> None:
    """A row for each model, a column for each measure."""
    rows: dict[str, list[PairedScore]] = {}
    for one in paired:
        rows.setdefault(one.system, []).append(one)
    for number, (name, own) in enumerate(rows.items()):
        if not number:
            typer.echo(f"\ncompared with {name} by a paired bootstrap test ({samples:,} resamplings, 95 % intervals):")
            typer.echo("\t".join(["model", *(one.measure for one in own)]))
        typer.echo("\t".join([name, *map(str, own)]))


def _draw(found: "RunComparison", out: Path) -> None:
    from regard.inspection.pictures.comparison_picture import ComparisonRows, comparison_picture
    from regard.inspection.pictures.draw import save_figure

    costs: dict[str, dict[str, float]] = {
        f"seconds per 1,000 {found.what}": {
            one.name: 1000 / one.per_second for one in found.compared if one.per_second
        },
        "seconds of training": {one.name: one.training_seconds for one in found.compared if one.training_seconds},
        "MiB added at the peak": {one.name: one.mib for one in found.compared if one.mib},
        "thousands of parameters": {one.name: one.parameters / 1000 for one in found.compared if one.parameters},
    }
    rows = ComparisonRows(
        curves={
            one.name: [[(point.step, point.seconds, point.value) for point in curve] for curve in one.curves]
            for one in found.compared
        },
        valid_metric=found.valid_metric or "",
        time="seconds of processor time" if found.by_processor else "seconds of training",
        qualities={one.name: (one.mean, one.spread or one.interval or 0.0) for one in found.compared},
        metric=found.metric,
        costs={cost: values for cost, values in costs.items() if values},
        groups={one.name: one.groups for one in found.compared},
    )
    save_figure(comparison_picture(rows), out)
    typer.echo(f"wrote {out}", err=True)
