"""regard train: from text files to a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)
RunsOption = Annotated[Path, typer.Option("--runs", help="Where the folders of runs are.")]
DataOption = Annotated[
    Path | None, typer.Option("--data", help="Where data files are; beside the run file unless set.")
]
SetOption = Annotated[list[str], typer.Option("--set", help="Change one setting, such as model.width=256.")]


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
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write what TensorBoard shows.")] = False,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Train the model that a run file describes. Interrupt it as you like: the same command goes on."""
    use_threads(threads)
    from regard.apps.run_settings import read_run

    settings = read_run(run, changes)
    folder = runs / settings.name
    outcome = run_training(settings, folder, run.parent if data is None else data, device, tensorboard)
    averaged = f", the mean of {len(outcome.averaged)} validations" if len(outcome.averaged) > 1 else ""
    typer.echo(f"{outcome.reason}; the model{averaged}: {folder / 'model.safetensors'}")


def run_training(settings: Any, folder: Path, data: Path, device: str = "cpu", tensorboard: bool = False) -> Any:
    """Train to the end in the folder of a run; curves and model are there afterwards."""
    from regard.apps.display import Watch
    from regard.apps.preparation import prepare
    from regard.base.config import to_toml
    from regard.base.errors import RegardError
    from regard.runs.folder import open_run
    from regard.training.tensorboard import TensorBoard
    from regard.training.trainer import Trainer

    free = {"training.steps", "training.epochs", "training.patience", "training.keep", "decoding"}
    with open_run(folder, to_toml(settings), free) as place, Watch() as watch:
        try:
            prepared = prepare(settings, folder, data, lambda text: watch.say(f"{text} …"))
            model = prepared.model().to(device)
            artifact = prepared.artifact_for(model)
        except RegardError:
            _forget(place)
            raise
        weights = sum(weight.numel() for weight in model.parameters())
        watch.say(f"{len(prepared.store):,} training lines, {weights:,} weights")
        report = prepared.batches.batches.report() if hasattr(prepared.batches, "batches") else ""
        if report:
            watch.note(report)
        trainer = Trainer(
            model,
            prepared.batches,
            settings.training,
            place,
            validate=prepared.validation,
            progress=TensorBoard(folder / "tensorboard", watch) if tensorboard else watch,
            artifact=artifact,
        )
        outcome = trainer.run()
        _choose_heads(place, prepared, watch, device)
        _draw_curves(place, watch)
        return outcome


def _forget(place: Any) -> None:
    """Nothing was learned yet: other settings, such as a name without its misspelling, may take the folder."""
    if not place.checkpoints.steps():
        for name in (place.config.name, "subwords.json", "text.sha256", "links.sha256"):
            (place.path / name).unlink(missing_ok=True)


def _choose_heads(place: Any, prepared: Any, watch: Any, device: str) -> None:
    """Keep in the model which heads show the words that belong together, unless it was trained to show them."""
    from regard.alignment.heads import rank_heads
    from regard.apps.commands.heads import keep_choice
    from regard.base.errors import RegardError
    from regard.decoding.translator import Translator
    from regard.inspection.loading import load

    translator = load(place.model, device=device)
    if not isinstance(translator, Translator) or translator.aligner is None or translator.alignment is not None:
        return
    try:
        ranking = rank_heads(translator, *prepared.sample(10_000))
    except RegardError as error:  # such as layers that blend the source; the model is there all the same
        watch.note(f"no heads were chosen for alignments: {error}")
        return
    keep_choice(place.model, ranking)
    watch.say(f"words are aligned by {ranking.best} ({ranking.best.measure}: {ranking.best.score:.2f})")


def _draw_curves(place: Any, watch: Any) -> None:
    from regard.base.errors import RegardError
    from regard.training.curves import draw_curves

    try:
        draw_curves(place.log, place.curves)
    except RegardError as error:  # without matplotlib, say; the model is there all the same
        watch.note(str(error))
