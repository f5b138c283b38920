"""regard train: train a model from a run file, or resume its training."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from regard.apps.display import say_next
from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)
_USES = {"translate": "regard translate {} input.txt -o output.txt", "language": "regard generate {} 'a beginning'"}
"""the command that uses the model in a folder, by its task"""
RunsOption = Annotated[Path, typer.Option("--runs", help="The folder that holds the run folders.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="The folder of the data files; by default the run file's.")
]
SetOption = Annotated[list[str], typer.Option("--set", help="Override a setting, such as model.width=256.")]


@app.command(
    "train",
    epilog=examples(
        "regard train run.toml",
        "regard train run.toml --set training.steps=2000 --set name=short",
        "regard train recipes/multi30k.toml --data ~/multi30k",
        "torchrun --nproc-per-node 4 -m regard train run.toml --set training.lanes=4    four processes",
    ),
)
def train_command(
    run: Annotated[Path, typer.Argument(help="The run's settings, as regard init writes them.")],
    changes: SetOption = [],  # noqa: B006 - typer takes a list for an option that may come often
    runs: RunsOption = Path("runs"),
    data: DataOption = None,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write TensorBoard logs.")] = False,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Train the model that a run file describes. The same command resumes an interrupted training."""
    use_threads(threads)
    from regard.base.world import own_rank
    from regard.learning import run_training
    from regard.tasks.run import read_run

    settings = read_run(run, changes)
    folder = runs / settings.name
    home = run.parent if data is None else data
    outcome = run_training(settings, folder, home, device, tensorboard)
    if own_rank():
        return
    made = f", {outcome.made}" if outcome.made else ""
    typer.echo(f"{outcome.reason}; the model{made}: {folder / 'model.safetensors'}")
    test = getattr(getattr(settings.task, "data", None), "test", None)
    if test:
        files = [str(home / file) for file in test]
        typer.echo(f"next: {shlex.join(['regard', 'evaluate', str(folder), *files])}")
    else:
        say_next(_USES.get(settings.task.task_name(), "regard evaluate {} TEST").format(folder))
