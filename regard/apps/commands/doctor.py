"""regard doctor: predict the time and memory of a run before it starts, and check its data."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.commands.train import DataOption, SetOption
from regard.apps.display import say_next
from regard.apps.options import DeviceOption, FileGroups, ThreadsOption, examples, use_threads
from regard.base.wording import counted

app = typer.Typer(add_completion=False)
UTILIZATION = 0.3
"""the share of a processor's peak speed that training uses: Vaswani et al., 2017, report 3.3e18 and 2.3e19 for base and
big, the hours × 8 GPUs × 9.5 TFLOP/s, where the operations done are 0.29 and 0.42 of that"""


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard doctor run.toml",
        "regard doctor run.toml --test test.en test.de        does the test set leak into training?",
        "regard doctor run.toml --set model.preset=base --seconds 20",
        "regard doctor run.toml --ranks 16 --bandwidth 25     does it pay to use 16 machines?",
    ),
)
def doctor(
    run: Annotated[Path, typer.Argument(help="The run's settings, as regard init writes them.")],
    test: Annotated[list[Path], typer.Option("--test", help="A test set that must not be in the training text.")] = [],  # noqa: B006
    changes: SetOption = [],  # noqa: B006
    data: DataOption = None,
    seconds: Annotated[float, typer.Option(min=1, help="How many seconds to measure training speed.")] = 10.0,
    ranks: Annotated[
        int, typer.Option(min=1, help="Also predict the speed on up to this many ranks, as torchrun starts them.")
    ] = 1,
    bandwidth: Annotated[
        float,
        typer.Option(min=0.001, help="Between ranks, in Gbit/s: 10 for Ethernet, 400 within a machine."),
    ] = 10.0,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Check the data, train for a few seconds, and predict time and memory."""
    use_threads(threads)
    from regard.tasks.run import read_run
    from regard.tasks.start import Started, base_of

    settings = read_run(run, changes)
    home = run.parent if data is None else data
    with tempfile.TemporaryDirectory(prefix="regard-doctor-") as folder:
        started = Started(settings, settings.task.prepare(Path(folder), home), base_of(settings, home))
        typer.echo("Data")
        checkup = settings.task.check(started.prepared, home, test)
        for fact in checkup.facts:
            typer.echo(f"  {fact}")
        for finding in (*checkup.findings, *started.prepared.notes):
            typer.echo(f"  ! {finding}")
        typer.echo("\nTraining on this machine")
        _processor()
        found = _predict(started, seconds, device)
        if ranks > 1:
            _scale(found, ranks, bandwidth)
    say_next(f"regard train {run}")


def _processor() -> None:
    from regard.base import processor

    typer.echo(f"  {processor.report()}")
    held = processor.held()
    if held is not None:
        typer.echo(f"  ! {held}")


def _predict(started: Any, seconds: float, device: str) -> Any:
    from regard.apps.rehearsal import rehearse

    found = rehearse(started, seconds, device, lambda text: typer.echo(f"  {text}"))
    training, unit = started.run.training, started.run.task.unit
    limits = [training.steps, training.epochs and training.epochs * found.steps_an_epoch]
    steps = min((limit for limit in limits if limit), default=found.steps_an_epoch)
    flops = "" if found.flops_an_epoch is None else f", {found.flops_an_epoch:.2e} floating-point operations an epoch"
    typer.echo(f"  {found.weights:,} weights{flops}")
    typer.echo(f"  {found.a_second:,.0f} {unit}/s, {100 * found.padding:.1f} % padding")
    typer.echo(f"  an epoch is {counted(found.steps_an_epoch, 'step')} and takes {_time(found.seconds_an_epoch)}")
    whole = found.seconds_an_epoch * steps / max(1, found.steps_an_epoch)
    taken = f"{counted(steps, 'step takes', 'steps take')} {_time(whole)} at most"
    typer.echo(f"  {taken}, validations apart; patience may end it sooner")
    if found.flops_an_epoch is not None:
        total = found.flops_an_epoch * steps / max(1, found.steps_an_epoch)
        usual = f"{total / UTILIZATION:.1e} as papers count (time × peak speed, {100 * UTILIZATION:.0f} % of it used)"
        typer.echo(f"  training cost: {total:.1e} floating-point operations, {usual}")
    typer.echo(f"  memory: about {found.memory / 2**30:.1f} GiB")
    return found


def _scale(found: Any, ranks: int, bandwidth: float) -> None:
    """Predict the speed on more ranks like this one, and say how many pay."""
    cost = found.cost(bandwidth * 1e9 / 8)
    typer.echo(f"\nOn more ranks like this machine, at {bandwidth:g} Gbit/s, with the same batch shared out")
    typer.echo(f"  a step sends {2 * found.gradient_bytes / 1e6:,.0f} MB of gradients from each rank")
    numbers = [number for number in (2**power for power in range(13)) if number < ranks] + [ranks]
    for number, seconds, faster in cost.table(numbers):
        sending = f", {1e3 * cost.sending(number):,.0f} ms sending gradients" if number > 1 else ""
        typer.echo(f"  {number:>5} ranks: {1e3 * seconds:>8,.0f} ms a step, {faster:.1f} times as fast{sending}")
    most = cost.most()
    typer.echo(
        f"  more than {most} ranks stop paying: twice as many would be less than 1.5 times as fast; a larger batch "
        "(batches.tokens) gives each rank more to compute"
    )


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
