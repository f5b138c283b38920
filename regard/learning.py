"""Training from Python: from text files, a run file or settings to a trained model.

>>> trained = train(["train.en", "train.de"], dev=["dev.en", "dev.de"], training={"steps": 20, "validate_every": 10})
>>> trained.model.translate(["the dog sees the cat"])[0].text
>>> trained.history[-1]["bleu"], trained.folder
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from regard.base.config import read_table
from regard.base.errors import ConfigError, RegardError, UsageError
from regard.base.world import own_rank
from regard.decoding.translator import Translator
from regard.loading import load
from regard.runs.folder import RunFolder
from regard.tasks.run import Run, run_of
from regard.tasks.start import train_run
from regard.tasks.task import Wishes, advice_for
from regard.training.curves import draw_curves
from regard.training.progress import Progress, Silent, StepReport
from regard.training.tensorboard import TensorBoard
from regard.training.trainer import Outcome
from regard.training.watch import Watch

What = str | Path | Sequence[str | Path] | Mapping[str, Any] | Run
Shown = Progress | Callable[[StepReport], Any]
Loaded = TypeVar("Loaded")


@dataclass(frozen=True)
class Trained(Generic[Loaded]):
    """A finished run: its folder, how it ended, and its model.

    >>> trained = train("run.toml")
    >>> trained.outcome.step, trained.outcome.reason
    >>> [(entry["step"], entry["loss"]) for entry in trained.history]
    """

    folder: Path
    outcome: Outcome
    """the last step, the reason why training ended, the best validation"""
    expect: type[Any] | None = field(default=None, repr=False)

    @property
    def file(self) -> Path:
        """The model file, the one file to hand on."""
        return RunFolder(self.folder).model

    @cached_property
    def model(self) -> Loaded:
        """What `regard.load` gives for the run: a `Translator`, a `Generator`."""
        loaded: Any = load(self.folder, expect=self.expect or object)
        return loaded

    @property
    def history(self) -> list[dict[str, Any]]:
        """The validations in order: each has its step and its metrics. `log` has the steps between them too."""
        return self.log("valid")

    def log(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The entries of the run's log, of all kinds or of one: `train`, `valid`."""
        return list(RunFolder(self.folder).log.entries(kind))


@overload
def train(
    what: What,
    *,
    dev: str | Path | Sequence[str | Path] = (),
    preset: str | None = None,
    runs: str | Path = "runs",
    data_folder: str | Path | None = None,
    progress: Shown | None = None,
    device: str = "cpu",
    tensorboard: bool = False,
    expect: None = None,
    **changes: Any,
) -> Trained[Translator]: ...


@overload
def train(
    what: What,
    *,
    dev: str | Path | Sequence[str | Path] = (),
    preset: str | None = None,
    runs: str | Path = "runs",
    data_folder: str | Path | None = None,
    progress: Shown | None = None,
    device: str = "cpu",
    tensorboard: bool = False,
    expect: type[Loaded],
    **changes: Any,
) -> Trained[Loaded]: ...


def train(
    what: What,
    *,
    dev: str | Path | Sequence[str | Path] = (),
    preset: str | None = None,
    runs: str | Path = "runs",
    data_folder: str | Path | None = None,
    progress: Shown | None = None,
    device: str = "cpu",
    tensorboard: bool = False,
    expect: type[Any] | None = None,
    **changes: Any,
) -> Trained[Any]:
    """Train a model, as `regard train` does; the same call resumes a training that was stopped.

    >>> train(["train.en", "train.de"], dev=["dev.en", "dev.de"], name="small", training={"steps": 20})
    >>> train("run.toml", model={"dropout": 0.2}, training={"optimizer": optimizers.Muon(learning_rate=0.002)})

    `what` is a run file (`run.toml`), its tables as a mapping or a `Run`, or text files, for which settings are chosen
    as `regard init` does: source and target, one file that holds both, or one text for a language model; `dev` is
    their validation set, `preset` a named size of the model.

    Further keywords change settings: a table is merged (`training={"steps": 500}`), anything else replaces what was
    there; parts may be objects. The run's folder is `runs`/name. File names in a run file start at its own folder,
    others at the working directory, unless there is a `data_folder`.

    Progress is shown on standard error as the command shows it, unless `progress` is a function, which is called with
    the report of every step, or a `Progress` of your own; `Progress()` shows nothing. Ctrl-C saves the run and raises
    `Interrupted`. `expect` is the class of the trained model, as in `load`: `expect=Generator`.
    """
    run, home = _run_of(what, _listed(dev), preset, changes)
    folder = Path(runs) / run.name
    data = home if data_folder is None else Path(data_folder)
    return Trained(folder, run_training(run, folder, data, device, tensorboard, progress), expect)


def run_training(
    run: Run,
    folder: Path,
    data: Path,
    device: str = "cpu",
    tensorboard: bool = False,
    progress: Shown | None = None,
) -> Outcome:
    """Train to the end in the folder of a run, or resume there; writes the model and its learning curves."""
    if own_rank():
        return train_run(run, folder, data, Silent(), device)
    with _shown(progress) as seen:
        told = TensorBoard(folder / "tensorboard", seen) if tensorboard else seen
        outcome, place = train_run(run, folder, data, told, device), RunFolder(folder)
        try:
            draw_curves(place.log, place.curves)
        except RegardError as error:  # such as no matplotlib; the model is written all the same
            seen.note(str(error))
    return outcome


class _Reporting(Progress):
    """Calls a function with the report of every step."""

    def __init__(self, function: Callable[[StepReport], Any]) -> None:
        self._function = function

    def stepped(self, report: StepReport) -> None:
        self._function(report)


@contextmanager
def _shown(progress: Shown | None) -> Iterator[Progress]:
    if progress is None:
        with Watch() as watch:
            yield watch
    else:
        yield progress if isinstance(progress, Progress) else _Reporting(progress)


def _run_of(what: What, dev: list[Path], preset: str | None, changes: dict[str, Any]) -> tuple[Run, Path]:
    """The run, and the folder in which its file names start."""
    is_file = isinstance(what, str | Path) and Path(what).suffix == ".toml"
    if isinstance(what, Run | Mapping) or is_file:
        if dev or preset is not None:
            raise UsageError("train: dev and preset go with text files; a run has its own, data={'dev': …}")
        if isinstance(what, Run):
            return run_of(_merged(what.to_dict(), changes), what.name), Path()
        if isinstance(what, Mapping):
            return run_of(_merged(what, changes), "run"), Path()
        return run_of(_merged(read_table(str(what)), changes), Path(str(what)).stem), Path(str(what)).parent
    model = changes.pop("model") if isinstance(changes.get("model"), str) else None
    wishes = Wishes(dev=tuple(dev), name=changes.get("name"), model=model, preset=preset)
    advice = advice_for(_listed(what), wishes)
    run = run_of(_merged(tomllib.loads(advice.text), changes), "run")
    advice.write()
    return run, wishes.out.parent


def _listed(files: Any) -> list[Path]:
    return [Path(files)] if isinstance(files, str | Path) else [Path(file) for file in files]


def _merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The table with the changes; a dotted name, `training.steps`, reaches inside."""
    both = dict(table)
    for name, value in changes.items():
        first, _, rest = name.partition(".")
        change = {rest: value} if rest else value
        inner = both.get(first)
        if isinstance(change, Mapping) and isinstance(inner, Mapping):
            new_choice = "name" in change and change["name"] != inner.get("name")
            both[first] = dict(change) if new_choice else _merged(inner, change)
        elif rest and not isinstance(inner, Mapping | None):
            raise ConfigError(f"{name}: {first} is a value, not a table of settings")
        else:
            both[first] = _merged({}, change) if rest else change
    return both
