"""regard compare: finished runs of any task, or settings that are trained on one budget, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FileGroups,
    StrategyOption,
    ThreadsOption,
    examples,
    use_threads,
)

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard compare runs/with-attention runs/without --test test.en test.de",
        "regard compare runs/small-1 runs/small-2 runs/wide-1 runs/wide-2 --out runs.svg    by their own validations",
        "regard compare runs/small-* runs/wide-* --test test.en test.de --out runs.svg",
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
        list[Path] | None, typer.Option("--test", help="Test files, such as source and target; not for run files.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw quality by budget and by cost to this file.")
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
        str | None,
        typer.Option(help="What to compare by: a score on --test, or a validation metric; by default training.metric."),
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
    """Print what each run reaches and costs, and in one sentence which to take.

    Finished runs of any task are compared by their scores on --test, or without it by the validations in their logs:
    quality, speed, memory, parameters, and the spread over seeds of runs that differ in nothing else. Texts are also
    compared with those of the first model by a paired bootstrap test: a p-value below 0.05 means that the difference
    is unlikely to come from the choice of sentences. --out draws quality by budget and by cost.

    Run files (.toml) are trained first, each on the same data with the same seeds and budget.
    """
    use_threads(threads)
    from regard.base.errors import UsageError

    if any(model.suffix == ".toml" for model in models):
        if test or not all(model.suffix == ".toml" for model in models):
            raise UsageError("compare: run files (.toml) are trained and compared by their dev set; give them alone")
        from regard.apps.settings_trial import try_settings

        try_settings(models, vary or [], (steps, tokens, seconds), seeds, metric, runs, out, as_json)
        return
    from regard.apps.run_contest import ChosenSearch, show_runs

    options = {"search": ChosenSearch(strategy, beam), "tokenize": tokenize, "groups": groups}
    opening = {"device": device, "engine": engine, "threads": threads}
    show_runs(models, test or [], metric, samples, options, opening, out, as_json)
