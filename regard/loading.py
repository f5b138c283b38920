"""From a file or folder to what its task opens it as: a translator, a generator of text.

>>> translator = load("runs/en-de")
>>> translator.translate(["Two dogs play in the snow."], alignments=True)[0].alignment
>>> load("runs/novels", expect=Generator).generate(["Once upon a time"])
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

import torch

from regard.base.errors import RegardError, UsageError, check_one_of
from regard.decoding.strategy import STRATEGIES, Strategy
from regard.decoding.translator import Translator
from regard.interop.ctranslate2_alignment import with_aligner
from regard.interop.ctranslate2_translator import open_ctranslate2
from regard.interop.export_folder import MANIFEST, read_manifest
from regard.layers.inference.precision import in_precision
from regard.runs.snapshot import open_artifact
from regard.tasks.task import TASKS, Task

ENGINES = ("auto", "torch", "ctranslate2")


Opened = TypeVar("Opened")


@overload
def load(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | str | None = None,
    device: str | torch.device = "cpu",
    engine: str = "auto",
    *,
    expect: None = None,
    precision: str = "float32",
    shortlist: bool = False,
    threads: int | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Translator: ...


@overload
def load(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | str | None = None,
    device: str | torch.device = "cpu",
    engine: str = "auto",
    *,
    expect: type[Opened],
    precision: str = "float32",
    shortlist: bool = False,
    threads: int | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Opened: ...


def load(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | str | None = None,
    device: str | torch.device = "cpu",
    engine: str = "auto",
    *,
    expect: type[Any] | None = None,
    precision: str = "float32",
    shortlist: bool = False,
    threads: int | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Any:
    """The model in a file or run folder, as its task opens it; several work together as an ensemble.

    >>> load("runs/en-de", "beam(size=8)").translate(["Two dogs play in the snow."])

    A translation model gives a `Translator`, a language model a `Generator`. `expect` names the class that it has to
    be, as `expect=Generator`: another model is then refused, and a type checker knows what comes. Without it, a type
    checker takes the model for a translator.

    `strategy` is a decoding strategy or its text, else the model's own. Of an ensemble, the first model aligns.
    `precision` is that of the products with large matrices: `int8` is faster than `float32`, and loses little. With
    `shortlist`, only words are scored that `regard shortlist` found likely for a text.

    The engine `auto` is `ctranslate2` for what `regard export` wrote for it, and `torch` for models. The engine
    `ctranslate2` computes with so many `threads`, all cores unless set; given a model or a run it makes an export, and
    says so through `tell`. torch's threads are set for the whole process, by `torch.set_num_threads`.
    """
    speed: dict[str, Any] = {"precision": precision, "shortlist": shortlist, "threads": threads, "tell": tell}
    task, opened = load_task(paths, strategy, device, engine, **speed)
    if expect is not None and not isinstance(opened, expect):
        raise UsageError(
            f"{paths}: its task is {task.task_name()}, which gives a {type(opened).__name__}, not a {expect.__name__}"
        )
    return opened


def _refuse_foreign(place: Path) -> None:
    """Raise an error if an export is not for CTranslate2."""
    try:
        read_manifest(place, "ctranslate2")
    except RegardError as error:
        raise UsageError(f"{place}: an export for another program; give the model file or its run") from error


def _refuse_export(place: Path) -> None:
    """Raise an error that names the engine, if a folder is an export."""
    if not (place / MANIFEST).is_file():
        return
    _refuse_foreign(place)
    raise UsageError(f"{place}: an export, which the engine ctranslate2 runs, not torch, and not with other models")


def _engine_for(places: Sequence[str | Path], tell: Callable[[str], Any] | None) -> str:
    """CTranslate2 for a single export that it can run, else torch."""
    place = Path(places[0]) if len(places) == 1 else None
    if place is None or not (place / MANIFEST).is_file():
        return "torch"
    _refuse_foreign(place)
    if tell is not None:
        tell(f"{place}: an export, so CTranslate2 computes it")
    return "ctranslate2"


def load_task(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | str | None = None,
    device: str | torch.device = "cpu",
    engine: str = "auto",
    *,
    precision: str = "float32",
    shortlist: bool = False,
    threads: int | None = None,
    tell: Callable[[str], Any] | None = None,
) -> tuple[type[Task], Any]:
    """The model's task, and what `load` gives."""
    check_one_of("load", ENGINES, engine=engine)
    places = [paths] if isinstance(paths, str | Path) else list(paths)
    search: Strategy | None = STRATEGIES.make(strategy, "strategy")
    if engine == "auto":
        engine = _engine_for(places, tell)
    if engine == "ctranslate2":
        if precision != "float32":
            raise UsageError("load: the engine ctranslate2 computes in the precision of its export; see regard export")
        if len(places) != 1:
            raise UsageError(
                f"load: the engine ctranslate2 takes one model, not {len(places)}; an ensemble needs torch"
            )
        opened = open_ctranslate2(
            places[0], search, device=str(device), threads=threads, shortlist=shortlist, tell=tell
        )
        return TASKS.get("translate"), with_aligner(opened)
    if not places:
        raise UsageError("load: give a model file, or the folder of a run")
    for place in places:
        _refuse_export(Path(place))
    artifacts = [open_artifact(place) for place in places]
    for other in artifacts[1:]:
        if other.task != artifacts[0].task:
            raise UsageError(
                f"{other.name}: its task is {other.task}, but that of {artifacts[0].name} is {artifacts[0].task}; "
                "models of an ensemble must do the same"
            )
    task: type[Task] = TASKS.get(artifacts[0].task, f"{artifacts[0].name}: task")
    models = [in_precision(artifact.model().to(device), precision) for artifact in artifacts]
    return task, task.open(artifacts, models, strategy=search, shortlist=shortlist)
