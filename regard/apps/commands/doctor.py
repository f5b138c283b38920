"""regard doctor: what to expect of a run before it is started, and what is wrong with its data."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.commands.train import DataOption, SetOption
from regard.apps.options import DeviceOption, FileGroups, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard doctor run.toml",
        "regard doctor run.toml --test test.en test.de        does the test set leak into training?",
        "regard doctor run.toml --set model.preset=base --seconds 20",
    ),
)
def doctor(
    run: Annotated[Path, typer.Argument(help="The run's settings, as regard init writes them.")],
    test: Annotated[list[Path], typer.Option("--test", help="A test set that must not be in the training text.")] = [],  # noqa: B006
    changes: SetOption = [],  # noqa: B006
    data: DataOption = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long to measure the speed of training.")] = 10.0,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Check the data, try the model for a few seconds, and predict time and memory."""
    use_threads(threads)
    from regard.apps.preparation import prepare
    from regard.apps.run_settings import read_run
    from regard.base.errors import UsageError
    from regard.data.corpus import open_corpus

    settings = read_run(run, changes)
    home = run.parent if data is None else data
    corpus = settings.data.corpus(settings.data.train, home, "skip")
    held_out = {}
    if settings.data.dev is not None:
        held_out["dev"] = settings.data.corpus(settings.data.dev, home, "error")
    if test:
        held_out["test"] = open_corpus(*test, blanks="error" if corpus.sides == 2 else "skip")
    for name, other in held_out.items():
        if other.sides != corpus.sides:
            raise UsageError(f"{name}: must have as many sides as the training text, {corpus.sides}, not {other.sides}")
    typer.echo("Data")
    if corpus.sides == 2:
        _check(corpus, held_out)
    with tempfile.TemporaryDirectory(prefix="regard-doctor-") as folder:
        prepared = prepare(settings, Path(folder), home)
        _subwords(prepared, held_out)
        typer.echo("\nTraining on this machine")
        _processor()
        _predict(prepared, seconds, device)


def _check(corpus: Any, held_out: dict[str, Any]) -> None:
    from regard.data.checkup import check_corpus

    checkup = check_corpus(corpus, held_out)
    typer.echo(f"  {checkup.counts}")
    for finding in checkup.findings:
        typer.echo(f"  ! {finding}")
    if not checkup.findings:
        typer.echo("  no duplicates, leaks, copies, odd lengths or lines in a wrong language")


def _subwords(prepared: Any, held_out: dict[str, Any]) -> None:
    from regard.data.subwords.tokenizer import Subwords

    pair = prepared.subwords
    sides = [pair] if isinstance(pair, Subwords) else [pair.source, pair.target]
    sizes = " and ".join(f"{len(side):,}" for side in dict.fromkeys(sides))
    lengths = ", ".join(f"{side.lengths.mean():.1f}" for side in prepared.store.sides)
    typer.echo(f"  {sizes} subwords; {lengths} of them in a mean line")
    for name, corpus in held_out.items():
        missing: dict[str, None] = {}
        for row in corpus.rows():
            for side, text in zip(sides, row, strict=True):
                missing.update(dict.fromkeys(side.unknowns(text)))
        if missing:
            shown = " ".join(list(missing)[:20])
            typer.echo(f"  ! {len(missing)} characters of {name} cannot be written: {shown} (byte_fallback = true can)")


def _processor() -> None:
    from regard.base import processor

    typer.echo(f"  {processor.report()}")
    held = processor.held()
    if held is not None:
        typer.echo(f"  ! {held}")


def _predict(prepared: Any, seconds: float, device: str) -> None:
    from regard.apps.rehearsal import rehearse

    found = rehearse(prepared, seconds, device)
    training = prepared.settings.training
    limits = [training.steps, training.epochs and training.epochs * found.steps_an_epoch]
    steps = min((limit for limit in limits if limit), default=found.steps_an_epoch)
    typer.echo(f"  {found.weights:,} weights, {found.flops_an_epoch:.2e} floating-point operations an epoch")
    typer.echo(f"  {found.tokens_a_second:,.0f} target tokens/s, {100 * found.padding:.1f} % padding")
    typer.echo(f"  an epoch is {found.steps_an_epoch:,} steps and takes {_time(found.seconds_an_epoch)}")
    whole = found.seconds_an_epoch * steps / max(1, found.steps_an_epoch)
    typer.echo(f"  {steps:,} steps take {_time(whole)} at most, validations apart; patience may end it sooner")
    typer.echo(f"  memory: about {found.memory / 2**30:.1f} GiB")


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
