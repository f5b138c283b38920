"""Train several settings on one budget, and show what each reaches and costs."""

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from regard.comparison.comparing import Budget, Comparison, as_dict, compare_settings, trials_of, verdict


def try_settings(
    files: Sequence[Path],
    vary: Sequence[str],
    budget: tuple[int | None, int | None, float | None],
    seeds: int,
    metric: str | None,
    runs: Path,
    out: Path | None,
    as_json: bool,
) -> None:
    """Train, print a row for each of the settings and the answer in one sentence, and draw quality by cost."""
    steps, units, seconds = budget
    trials = trials_of(files, vary)
    given = Budget(steps=steps, units=units, seconds=seconds)
    if not as_json:
        typer.echo("\t".join(["settings", "quality", "seconds", "MiB", "weights", "steps"]))
    found = compare_settings(
        trials, given, seeds=seeds, folder=runs, metric=metric, tell=(lambda one: None) if as_json else _show
    )
    if as_json:
        typer.echo(json.dumps(as_dict(found), ensure_ascii=False, indent=2))
    else:
        typer.echo(f"\n{verdict(found)}")
    if out is not None:
        _draw(found, out)


def _show(one: Comparison) -> None:
    spread = f" ± {one.spread:.2g}" if len(one.quality) > 1 else ""
    quality = f"{one.metric} {one.mean:.4g}{spread}"
    typer.echo(
        "\t".join([one.name, quality, f"{one.seconds:.1f}", f"{one.mib:.0f}", f"{one.weights:,}", str(one.steps)])
    )


def _draw(found: Sequence[Comparison], out: Path) -> None:
    from regard.inspection.pictures.cost_picture import cost_picture
    from regard.inspection.pictures.draw import save_figure

    costs = {
        "seconds of training": {one.name: one.seconds for one in found},
        "MiB added by training": {one.name: one.mib for one in found},
        "thousands of weights": {one.name: one.weights / 1000 for one in found},
    }
    qualities = {one.name: (one.mean, one.spread) for one in found}
    save_figure(cost_picture(qualities, costs, found[0].metric), out)
    typer.echo(f"wrote {out}", err=True)
