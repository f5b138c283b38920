"""regard compare: evaluate several models on one test set, or train several settings on one budget, side by side."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.apps.display import bar
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FileGroups,
    StrategyOption,
    ThreadsOption,
    chosen_strategy,
    examples,
    use_threads,
)

if TYPE_CHECKING:
    from regard.metrics.quality import QualityScore
    from regard.metrics.significance import Judged, PairedScore

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard compare runs/with-attention runs/without --test test.en test.de",
        "regard compare runs/* --test test.tsv --out lengths.svg",
        "regard compare runs/old runs/new --test test.en test.de --json",
        "regard compare window.toml performer.toml full.toml --steps 500 --out cost.svg",
        "regard compare run.toml --vary 'model.mask=window(64),none' --tokens 1000000 --seeds 5",
    ),
)
def compare(
    models: Annotated[
        list[Path], typer.Argument(help="Model files, run folders or snapshots; or run files (.toml) to be trained.")
    ],
    test: Annotated[
        list[Path] | None, typer.Option("--test", help="Source and target, or one file of pairs; not for run files.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Draw BLEU by source length, or quality by cost, to this file.")
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(help="Run files: a setting and its values, such as model.mask=window(64),none; may be repeated."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Run files: train each with so many seeds.")] = 3,
    steps: Annotated[int | None, typer.Option(min=1, help="Run files: the budget in training steps.")] = None,
    tokens: Annotated[
        int | None, typer.Option(min=1, help="Run files: the budget in tokens, or what else the task counts.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, help="Run files: the budget in seconds of processor time.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Run files: the validation metric to compare; by default training.metric.")
    ] = None,
    runs: Annotated[Path, typer.Option(help="Run files: the folder of the trained runs.")] = Path("runs/compare"),
    groups: Annotated[int, typer.Option(min=1, help="Number of source length groups.")] = 6,
    samples: Annotated[
        int, typer.Option(min=0, help="Bootstrap resamplings of the significance test; 0: no test.")
    ] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    tokenize: Annotated[
        str | None,
        typer.Option(help="sacrebleu's tokenizer; that of the language unless set, none for tokenized text."),
    ] = None,
    beam: BeamOption = None,
    strategy: StrategyOption = None,
    engine: EngineOption = "auto",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Evaluate each model on a test set and print its score; for translations also by source length.

    Given run files, train each on the same data with the same seeds and budget, and print what each reaches and costs,
    with one sentence about which to take.

    Each model after the first is also given as a percentage of the first model's score. Translations are then compared
    with those of the first by a paired bootstrap test: a p-value below 0.05 means that the difference is unlikely to
    come from the choice of sentences.
    """
    use_threads(threads)
    from regard.base.errors import UsageError

    if any(model.suffix == ".toml" for model in models):
        if test or not all(model.suffix == ".toml" for model in models):
            raise UsageError("compare: run files (.toml) are trained and compared by their dev set; give them alone")
        from regard.apps.settings_trial import try_settings

        try_settings(models, vary or [], (steps, tokens, seconds), seeds, metric, runs, out, as_json)
        return
    if not test:
        raise UsageError("compare: --test is missing: the files to evaluate the models on")
    from regard.loading import load_task
    from regard.tasks.task import Evaluation

    scores: dict[str, QualityScore] = {}
    outputs: dict[str, Judged] = {}
    with bar("evaluating", len(models)) as advance:
        for model in models:
            name = _name_of(model, scores)
            how = Evaluation(
                search=lambda own: chosen_strategy(strategy, beam, own),
                tokenize=tokenize,
                groups=groups,
                judged=partial(outputs.__setitem__, name),
                warn=lambda text: typer.echo(f"warning: {text}", err=True),
            )
            task, loaded = load_task(model, device=device, engine=engine, threads=threads)
            found = task.evaluate(loaded, test, how)[0]
            first = next(iter(scores), None)
            if first is not None and scores[first].name != found.name:
                raise UsageError(
                    f"{model}: its {found.name} cannot be compared with the {scores[first].name} of {first}"
                )
            scores[name] = found
            if not as_json:
                _show_row(name, scores)
            advance(1)
    paired = _paired(outputs, samples)
    if as_json:
        every = {"scores": {name: asdict(one) for name, one in scores.items()}, "paired": list(map(asdict, paired))}
        typer.echo(json.dumps(every, ensure_ascii=False, indent=2))
    else:
        _show_paired(paired, samples)
    if out is not None:
        _draw(scores, out)


def _name_of(model: Path, taken: Mapping[str, Any]) -> str:
    name = model.stem if model.suffix else model.name
    return str(model) if name in taken else name


def _show_row(name: str, scores: Mapping[str, "QualityScore"]) -> None:
    """The score of the latest model, overall and by group; after the first also as a percentage of the first's."""
    from regard.metrics.by_length import percent_of

    found, first = scores[name], next(iter(scores))
    if name == first:
        typer.echo("\t".join(["model", "all", *found.groups]))
    typer.echo("\t".join([name, f"{found.value:.2f}", *(f"{value:.1f}" for value in found.groups.values())]))
    if name != first:
        shares = percent_of(_values(found), _values(scores[first]))
        typer.echo("\t".join([f"% of {first}", *(f"{one:.0f}" for one in shares)]))


def _paired(outputs: Mapping[str, "Judged"], samples: int) -> list["PairedScore"]:
    from regard.metrics.significance import paired_bootstrap

    return paired_bootstrap(outputs, samples=samples) if samples and len(outputs) > 1 else []


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


def _draw(scores: Mapping[str, "QualityScore"], out: Path) -> None:
    from regard.inspection.pictures.draw import save_figure
    from regard.inspection.pictures.length_picture import length_picture

    drawn = {name: list(one.groups.values()) for name, one in scores.items()}
    save_figure(length_picture(list(next(iter(scores.values())).groups), drawn), out)
    typer.echo(f"wrote {out}", err=True)


def _values(score: "QualityScore") -> list[float]:
    """The score overall and in each group."""
    return [score.value, *score.groups.values()]
