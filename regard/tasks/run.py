"""run.toml: all settings of a run as one typed tree. Unknown, missing or mistyped settings are errors with their path.

    name = "en-de"
    task = "translate"        # by default the task that fits the data

Beside these stand the tables of the task, of the model and of training.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from regard.base.config import from_dict, read_table, to_dict, to_toml
from regard.base.errors import ConfigError, unknown
from regard.models.model import MODELS, Design
from regard.tasks.task import TASKS, Task
from regard.training.settings import TrainingSettings


@dataclass(frozen=True)
class Run:
    """A run: a model, its task, and the settings of its training."""

    name: str
    task: Task
    model: Design
    training: TrainingSettings
    tables: Any
    """all settings as run.toml has them"""

    def to_toml(self) -> str:
        """The resolved settings; `read_run` makes an equal run from them."""
        return to_toml(self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The resolved settings as plain dicts, ready for JSON."""
        return to_dict(self.tables)


def read_run(path: str | Path, overrides: Iterable[str] = ()) -> Run:
    """The run that a file describes, with `overrides` such as `model.width=256`."""
    return run_of(read_table(path, overrides), Path(path).stem)


def run_of(table: Mapping[str, Any], name: str) -> Run:
    """The run that tables describe; without a name of its own it gets the one given."""
    chosen = {"name": name, **table}
    task = _task_class(chosen)
    if "task" not in table:
        chosen = {key: value for key, value in chosen.items() if key in _fields(task) or key not in _OTHERS}
    chosen["task"] = task.task_name()
    if isinstance(chosen.get("model"), dict):
        chosen["model"] = with_preset(chosen["model"], "model")
    for setting in sorted(chosen.keys() - _fields(task)):
        _refuse_setting_of_another(setting, task)
    tables: Any = from_dict(chosen, _tables_of(task))
    if not tables.name or Path(tables.name).name != tables.name or tables.name.startswith(".") or "\0" in tables.name:
        raise ConfigError(f"name: must be the name of a folder, but is {tables.name!r}")
    made = task(**{own: _at(tables, path) for own, path in _paths(task).items()})
    task.check_model(tables.model)
    return Run(tables.name, made, tables.model, tables.training, tables)


def with_preset(model: dict[str, Any], where: str) -> dict[str, Any]:
    """The settings of a model, completed by those of its `preset`."""
    chosen = {key: value for key, value in model.items() if key != "preset"}
    if "preset" not in model:
        return chosen
    if "name" not in model:
        raise ConfigError(f"{where}.name: missing; models are: {', '.join(MODELS.names)}")
    presets = MODELS.get(str(model["name"]), f"{where}.name").presets  # type: ignore[attr-defined]
    preset = str(model["preset"])
    if preset not in presets:
        raise ConfigError(unknown(f"{where}.preset", preset, presets, "presets"))
    return {**presets[preset], **chosen}


_OTHERS = frozenset({"batches", "streams"})
"""tables that run files without `task` may hold although their task does not read them"""


def _task_class(table: Mapping[str, Any]) -> type[Task]:
    """The task that is named, or the one that fits the data."""
    if "task" in table:
        return TASKS.get(str(table["task"]), "task")
    data = table.get("data")
    if not isinstance(data, Mapping) or "train" not in data:
        raise ConfigError("data.train: missing; it must be the files to learn from")
    if not isinstance(data["train"], list | tuple):
        raise ConfigError(f"data.train: must be a list, but is {data['train']!r}")
    for at, file in enumerate(data["train"]):
        if not isinstance(file, str | Path):
            raise ConfigError(f"data.train[{at}]: must be the path of a file, but is {file!r}")
    fitting = [member for member in map(TASKS.get, TASKS.names) if member.suits(data)]  # type: ignore[attr-defined]
    if len(fitting) != 1:
        raise ConfigError(
            f"task: missing, and the files of data.train do not tell it; tasks are: {', '.join(TASKS.names)}"
        )
    return fitting[0]


@cache
def _tables_of(task: type[Task]) -> type:
    """A dataclass with the tables of run.toml: those of the task at their places, beside name, model and training."""
    hints = get_type_hints(task, include_extras=True)
    inside: list[Any] = []
    beside: list[Any] = []
    for own in dataclasses.fields(task):  # type: ignore[arg-type]
        place = own.metadata.get("path", own.name)
        if place == "model":  # the task is told the model's settings, which are a table of every run
            continue
        like: dict[str, Any] = {"default": own.default, "default_factory": own.default_factory}
        kept = {key: value for key, value in like.items() if value is not dataclasses.MISSING}
        where = inside if place.startswith("training.") else beside
        where.append((place.removeprefix("training."), hints[own.name], field(**kept)))
    settings: dict[str, Any] = {"frozen": True, "kw_only": True}
    training = dataclasses.make_dataclass("Training", inside, bases=(TrainingSettings,), **settings)
    model = ("model", Annotated[Any, MODELS])
    first = [("name", str), ("task", str), *beside]
    return dataclasses.make_dataclass(
        "Tables", [*first, model, ("training", training, field(default_factory=training))], **settings
    )


def _paths(task: type[Task]) -> dict[str, str]:
    """The path of each of a task's fields in run.toml."""
    return {own.name: own.metadata.get("path", own.name) for own in dataclasses.fields(task)}  # type: ignore[arg-type]


def _fields(task: type[Task]) -> set[str]:
    return {"name", "task", "model", "training"} | {path.partition(".")[0] for path in _paths(task).values()}


def _at(tables: Any, path: str) -> Any:
    for name in path.split("."):
        tables = getattr(tables, name)
    return tables


def _refuse_setting_of_another(setting: str, task: type[Task]) -> None:
    others = [name for name in TASKS.names if setting in _fields(TASKS.get(name))]
    if others:
        raise ConfigError(
            f"{setting}: a setting of the task {' or '.join(others)}, but this run's task is {task.task_name()}"
        )
    raise ConfigError(unknown("settings", setting, sorted(_fields(task)), "settings here"))
