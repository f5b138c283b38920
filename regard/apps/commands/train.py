"""regard train: train a model from a run file, or resume its training."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)
RunsOption = Annotated[Path, typer.Option("--runs", help="The folder that holds the run folders.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="The folder of the data files; by default the run file's.")
]
SetOption = Annotated[list[str], typer.Option("--set", help="Override a setting, such as model.width=256.")]


@app.command(
    epilog=examples(
        "regard train run.toml",
        "regard train run.toml --set training.steps=2000 --set name=short",
        "regard train recipes/multi30k.toml --data ~/multi30k",
    )
)
def train(
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
    from regard.tasks.run import read_run

    settings = read_run(run, changes)
    folder = runs / settings.name
    outcome = run_training(settings, folder, run.parent if data is None else data, device, tensorboard)
    made = f", {outcome.made}" if outcome.made else ""
    typer.echo(f"{outcome.reason}; the model{made}: {folder / 'model.safetensors'}")


def run_training(settings: Any, folder: Path, data: Path, device: str = "cpu", tensorboard: bool = False) -> Any:
    """Train to the end in the folder of a run, with a progress bar; writes the model and its learning curves."""
    from regard.apps.display import Watch
    from regard.runs.folder import RunFolder
    from regard.tasks.start import train_run
    from regard.training.tensorboard import TensorBoard

    with Watch() as watch:
        progress = TensorBoard(folder / "tensorboard", watch) if tensorboard else watch
        outcome = train_run(settings, folder, data, progress, device)
        _draw_curves(RunFolder(folder), watch)
        return outcome


def _draw_curves(place: Any, watch: Any) -> None:
    from regard.base.errors import RegardError
    from regard.training.curves import draw_curves

    try:
        draw_curves(place.log, place.curves)
    except RegardError as error:  # such as no matplotlib; the model is written all the same
        watch.note(str(error))
