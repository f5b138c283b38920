"""The reference of all settings of a run, made from the dataclasses that read them.

>>> find("training.optimizer.adam")[0].settings[0].meaning
'the peak of the learning rate, which the schedule scales'

A `SettingsTable` is a table of run.toml, a choice among members of a catalog, or one such member. Its path is that of
the table (`training`, `data`); a member's is its choice's path and its name (`model.transformer`,
`training.optimizer.adam`), and parts of models go by their catalog (`masks.window`).
"""

import dataclasses
import inspect
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any

from regard.attention.memory import MEMORIES
from regard.base.catalog import Catalog, first_sentence
from regard.base.config import has_default, in_words
from regard.base.errors import UsageError, unknown
from regard.base.meanings import meanings
from regard.models.model import MODELS
from regard.reference.setting_examples import as_toml, catalogs_in, example_of
from regard.tasks.task import TASKS
from regard.training.settings import TrainingSettings

_ABOUT = {
    "model": "The design of the network. Its settings stand beside its `name` in the table [model].",
    "feeds": "The feed-forward part of a layer, which works at each position by itself.",
    "masks": "Which keys a query may attend to. Masks compose with &, | and ~, as in `window(64) | global_tokens(2)`.",
    "memories": "How a layer keeps the keys and values that it reads.",
    "mixers": "The part of a layer that lets positions see each other.",
    "normalizers": "What turns the scores of a query into attention weights.",
    "positions": "How a model knows the order of its tokens.",
    "scores": "How well a key fits a query.",
}
"""what the catalogs of models and their parts are"""
_ORDER = ("run", "data", "subwords", "batches", "streams", "model", "training", "decoding")


@dataclass(frozen=True)
class Setting:
    """One setting: where it is written, its type in words, its default and an example as TOML, and its meaning."""

    path: str
    """where run.toml has it, such as `model.width`; for a part of a model, `window.size`"""
    kind: str
    default: str | None
    """None: it must be given"""
    meaning: str
    example: str
    see: str | None = None
    """the section that lists its options or its own settings"""

    @property
    def name(self) -> str:
        """The last word of the path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class SettingsTable:
    """A table of settings, or a choice among members, each of which is a section too."""

    path: str
    about: str
    settings: tuple[Setting, ...] = ()
    members: dict[str, str] = field(default_factory=dict, hash=False)
    """what can be chosen here: the members' sections, each with its first sentence"""
    presets: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    """the tasks that have this table; empty: all"""


@cache
def settings_tables() -> tuple[SettingsTable, ...]:
    """All sections, in the order of a run file; parts of models come last."""
    found: dict[SettingsTable, tuple[str, ...]] = {_run(): ()}
    later: dict[str, Catalog] = {}
    for own, task in _tables(later):  # tasks that read a table alike share its section
        found[own] = (*found.get(own, ()), task)
    for own in (*_choice("model", MODELS, "model", later), *_table("training", TrainingSettings, later)):
        found.setdefault(own, ())
    opened: set[str] = set()
    while later.keys() - opened:
        kind = min(later.keys() - opened)
        opened.add(kind)
        found |= dict.fromkeys(_choice(kind, later[kind], "", later), ())
    every = set(TASKS.names)
    shown = [dataclasses.replace(own, tasks=() if set(tasks) == every else tasks) for own, tasks in found.items()]
    return tuple(sorted(shown, key=_place))


def find(path: str) -> list[SettingsTable]:
    """The section of a path with those below it; or one section with the setting of that path alone."""
    path = path.strip().removeprefix("run.").rstrip(".")
    below = [own for own in settings_tables() if own.path == path or own.path.startswith(f"{path}.")]
    if below and path:
        return below
    single = [
        dataclasses.replace(own, settings=(one,), members={}, presets=())
        for own in settings_tables()
        for one in own.settings
        if path in (one.path, f"{own.path}.{one.name}".lstrip("."))
    ]
    if not single:
        sentence = unknown("settings", path, _paths(), "sections").partition("; ")[0]
        raise UsageError(f"{sentence}; `regard settings` lists all sections")
    return single + [own for own in settings_tables() if own.path == single[0].settings[0].see and len(single) == 1]


def _place(section: SettingsTable) -> tuple[int, bool]:
    """Where a section stands: run files begin with their data, and a table comes before the tables inside it."""
    first = section.path.partition(".")[0]
    return _ORDER.index(first) if first in _ORDER else len(_ORDER), section.path != first and first in _ORDER[:-1]


def _paths() -> list[str]:
    own = [section.path for section in settings_tables()]
    return own + [f"{section.path}.{one.name}" for section in settings_tables() for one in section.settings]


def _run() -> SettingsTable:
    """What stands at the top of a run file, before its tables."""
    tasks = f"one of the tasks: {', '.join(TASKS.names)}"
    name, task = "the name of the run and of its folder", "what the model is for"
    size = "a named size of the model; settings beside it change it"
    return SettingsTable(
        "run",
        "What stands at the top of a run file, and the model's name and size.",
        (
            Setting("name", "a text", "the run file's name", name, 'name = "en-de"'),
            Setting("task", tasks, "what the data suggests", task, 'task = "translate"'),
            Setting("model.name", "one of the models", None, "the design of the model", 'model.name = "gpt"', "model"),
            Setting("model.preset", "a text", '"none"', size, 'model.preset = "tiny"', "model"),
        ),
    )


def _tables(later: dict[str, Catalog]) -> Iterator[tuple[SettingsTable, str]]:
    """The tables of each task, with the task's name."""
    for name in TASKS.names:
        task: Any = TASKS.get(name)
        hints, texts = typing.get_type_hints(task, include_extras=True), meanings(task)
        for own in dataclasses.fields(task):
            path = own.metadata.get("path", own.name)
            usual = _default(own) if has_default(own) else None
            for section in _inside(path, hints[own.name], path, later, about=texts.get(own.name, ""), usual=usual):
                yield section, name


def _table(
    path: str, kind: type, later: dict[str, Catalog], written: str | None = None, usual: Any = None
) -> Iterator[SettingsTable]:
    """The section of a dataclass, and those of the tables and choices inside it; `usual` has other defaults."""
    where = path if written is None else written
    hints, texts = typing.get_type_hints(kind, include_extras=True), meanings(kind)
    fields = [own for own in dataclasses.fields(kind) if own.init and not _is_state(own, hints[own.name])]
    part = not where
    settings, inner = [], []
    for own in fields:
        hint, at = hints[own.name], f"{where or path.rpartition('.')[2]}.{own.name}"
        if own.name == "memory":  # kept as it is written until the model is built
            hint = Annotated[Any, MEMORIES]
        inside = part or path.startswith("model.")
        nested = list(_inside(f"{path}.{own.name}", hint, at, later, about=texts.get(own.name, ""), part=inside))
        inner += nested
        see = nested[0].path if nested else next((one.kind for one in catalogs_in(hint)), None)
        default = _default(own) if has_default(own) else None
        value = getattr(usual, own.name, default)
        needed = [other for other in fields if not has_default(other)]
        example = example_of(at, hint, value, needed, part, of=f"{path}.{own.name}")
        shown = as_toml(value) if has_default(own) else None
        settings.append(Setting(at, in_words(hint), shown, texts.get(own.name, ""), example, see))
    yield SettingsTable(path, inspect.getdoc(kind) or "", tuple(settings), presets=tuple(getattr(kind, "presets", ())))
    yield from inner


def _inside(
    path: str,
    hint: Any,
    written: str,
    later: dict[str, Catalog],
    *,
    about: str = "",
    usual: Any = None,
    part: bool = False,
) -> Iterator[SettingsTable]:
    """The sections of what a setting of this type holds: a table of its own, or a choice."""
    for catalog in catalogs_in(hint):
        if part:
            later[catalog.kind] = catalog
        else:
            yield from _choice(path, catalog, written, later, about)
    for kind in (hint, *typing.get_args(hint)):
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            yield from _table(path, kind, later, written, usual)


def _choice(
    path: str, catalog: Catalog, written: str, later: dict[str, Catalog], about: str = ""
) -> Iterator[SettingsTable]:
    """The section of a catalog, and those of its members."""
    members = {f"{path}.{name}": first_sentence(catalog.get(name)) for name in catalog.names}
    yield SettingsTable(path, about or _ABOUT.get(path, f"One of the {catalog.kind}."), members=members)
    for name in catalog.names:
        yield from _table(f"{path}.{name}", catalog.get(name), later, written)


def _is_state(own: "dataclasses.Field[Any]", hint: Any) -> bool:
    """Whether a field of a memory is what was written to it, rather than a setting."""
    kinds = [kind for kind in (hint, *typing.get_args(hint)) if isinstance(kind, type)]
    odd = any(kind.__module__.startswith(("torch", "regard")) and not dataclasses.is_dataclass(kind) for kind in kinds)
    return own.name.startswith("_") or (has_default(own) and (odd or (own.name, own.default) == ("length", 0)))


def _default(own: "dataclasses.Field[Any]") -> Any:
    return own.default if own.default_factory is dataclasses.MISSING else own.default_factory()


def text_of(found: Iterable[SettingsTable]) -> list[dict[str, Any]]:
    """Sections as plain JSON."""
    return [dataclasses.asdict(own) for own in found]
