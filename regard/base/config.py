"""Settings as a tree of frozen dataclasses; unknown, missing or mistyped settings raise an error with their path.

    settings = from_dict(read_table("run.toml", overrides=["model.width=256"]), Run)

A field of type `Annotated[Any, Catalog("regard.models")]` is a choice among the members of a folder: it is written as
a table with a `name` and becomes that member's dataclass. A field of type `Any` or `Mapping` is kept as written, for
its owner to resolve.

A dataclass may have a class method `migrate(table)`, which converts the settings of older files, and a method
`spelled()`, which writes it as a text that its catalog reads.
"""

import dataclasses
import tomllib
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, cast

import msgspec
import tomli_w

from regard.base.errors import ConfigError, unknown
from regard.base.files import read_text

Settings = TypeVar("Settings")
_NONE = "none"


class Choice(ABC):
    """An annotation of a field that makes its value from what is written in a config; `Catalog` is one."""

    default: str | None
    optional: bool

    @property
    @abstractmethod
    def kind(self) -> str:
        """A plural noun for the options."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The options."""

    @abstractmethod
    def choose(self, value: Any, where: str) -> Any:
        """Make the chosen part from the value at the path `where`."""


def read_table(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """Read the tables of a TOML file, then apply each override, such as `model.width=256`."""
    try:
        table = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    for text in overrides:
        _override(table, text)
    return table


def from_dict(table: Mapping[str, Any], kind: type[Settings], where: str = "") -> Settings:
    """Make the dataclass `kind` from plain dicts, lists and scalars; errors begin with the path `where`."""
    fields = {field.name: field for field in dataclasses.fields(cast(Any, kind)) if field.init}
    hints = typing.get_type_hints(kind, include_extras=True)
    table = getattr(kind, "migrate", lambda written: written)(table)
    for name in table:
        if name not in fields:
            raise ConfigError(unknown(where or "settings", name, fields, "settings here"))
    for name, field in fields.items():
        if name not in table and not has_default(field):
            raise ConfigError(f"{_join(where, name)}: missing; it must be {in_words(hints[name])}")
    for name, value in table.items():
        check_chosen(value, fields[name], hints[name], _join(where, name))
    values = {name: convert(value, hints[name], _join(where, name)) for name, value in table.items()}
    try:
        return kind(**values)
    except (ValueError, TypeError) as error:
        raise ConfigError(_located(str(error), where)) from error


def to_dict(settings: Any) -> dict[str, Any]:
    """The tree as plain dicts, lists and scalars, ready for JSON; `from_dict` gives an equal tree."""
    hints = typing.get_type_hints(type(settings), include_extras=True)
    fields = [field for field in dataclasses.fields(settings) if field.init]
    return {field.name: _plain(getattr(settings, field.name), hints[field.name]) for field in fields}


def to_toml(settings: Any) -> str:
    """The tree as TOML, which reads back as an equal tree. TOML has no null: None is left out or written `"none"`."""
    return tomli_w.dumps(_without_null(to_dict(settings), settings))


def _override(table: dict[str, Any], text: str) -> None:
    path, equals, value = text.partition("=")
    *parents, last = (part.strip() for part in path.split("."))
    if not equals or not last or not all(parents):
        raise ConfigError(f"--set {text}: write it as a.b=value, for example model.width=256")
    for at, parent in enumerate(parents):
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(f"--set {text}: {'.'.join(parents[: at + 1])} is a value, not a table of settings")
    table[last] = _toml_value(value.strip())


def _toml_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


def check_chosen(value: Any, field: "dataclasses.Field[Any]", hint: Any, where: str) -> None:
    """Raise an error where nothing is chosen, but a member must be: its setting has another default, or none."""
    extras = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
    choice = next((extra for extra in extras if isinstance(extra, Choice)), None)
    if choice is not None and not choice.optional and field.default is not None and value in (None, _NONE):
        raise ConfigError(f"{where}: must be one of {', '.join(choice.names)}, but is none")


def convert(value: Any, hint: Any, where: str) -> Any:
    """Convert a value to a type: lists to tuples, whole numbers to floats, texts to paths; `where` is its path."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        choices = [extra for extra in options[1:] if isinstance(extra, Choice)]
        if not choices:
            return convert(value, options[0], where)
        return None if value is None or value == _NONE else choices[0].choose(value, where)
    if origin in (Union, types.UnionType):
        return _convert_union(value, options, hint, where)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        return from_dict(value, hint, where)
    if origin is Literal:
        return _convert_literal(value, options, where)
    if origin in (list, tuple, Sequence) and isinstance(value, list | tuple):
        return _convert_items(value, hint, where)
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        return {key: convert(item, options[1], _join(where, str(key))) for key, item in value.items()}
    return _convert_leaf(value, hint, where)


def _convert_leaf(value: Any, hint: Any, where: str) -> Any:
    try:
        return msgspec.convert(value, hint, dec_hook=_decode)
    except (msgspec.ValidationError, TypeError) as error:
        raise _mistyped(value, in_words(hint), where) from error


def _decode(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    if isinstance(value, kind):
        return value
    raise TypeError(f"{type(value).__name__} where {kind.__name__} is wanted")


def _convert_union(value: Any, options: tuple[Any, ...], hint: Any, where: str) -> Any:
    if type(None) in options and (value is None or value == _NONE):
        return None
    tables = [option for option in options if dataclasses.is_dataclass(option)]
    if isinstance(value, Mapping) and len(tables) == 1:
        return convert(value, tables[0], where)
    some = [option for option in options if option is not type(None)]
    if len(some) == 1:
        return convert(value, some[0], where)
    for option in sorted(some, key=lambda option: option is float):
        try:
            return convert(value, option, where)
        except ConfigError:
            continue
    raise _mistyped(value, in_words(hint), where)


def _convert_literal(value: Any, options: tuple[Any, ...], where: str) -> Any:
    if any(value == option and type(value) is type(option) for option in options):
        return value
    raise ConfigError(unknown(where, str(value), map(str, options), "choices"))


def _convert_items(value: Sequence[Any], hint: Any, where: str) -> Any:
    options = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple:
        return [convert(item, options[0], f"{where}[{at}]") for at, item in enumerate(value)]
    if options[-1:] == (Ellipsis,):
        return tuple(convert(item, options[0], f"{where}[{at}]") for at, item in enumerate(value))
    if len(options) != len(value):
        raise _mistyped(list(value), f"a list of {len(options)} values", where)
    pairs = zip(value, options, strict=True)
    return tuple(convert(item, option, f"{where}[{at}]") for at, (item, option) in enumerate(pairs))


def _plain(value: Any, hint: Any = Any) -> Any:
    if hasattr(value, "spelled"):
        return value.spelled()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        extras = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
        name = type(value).__module__.rpartition(".")[2]
        named = any(isinstance(extra, Choice) and extra.default != name for extra in extras)
        return ({"name": name} if named else {}) | to_dict(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _without_null(table: dict[str, Any], settings: Any = None) -> dict[str, Any]:
    """Drop None where it is the default; write `"none"` where it is not."""
    fields = {f.name: f for f in dataclasses.fields(settings)} if dataclasses.is_dataclass(settings) else {}
    kept: dict[str, Any] = {}
    for name, value in table.items():
        if value is None:
            if name in fields and fields[name].default is not None:
                kept[name] = _NONE
        elif isinstance(value, dict):
            inner = settings.get(name) if isinstance(settings, Mapping) else getattr(settings, name, None)
            kept[name] = _without_null(value, inner)
        else:
            kept[name] = value
    return kept


def _located(message: str, where: str) -> str:
    """Put the path before a dataclass's error message, which may already begin with the path's last word."""
    last = where.rpartition(".")[2]
    if last and message.startswith((f"{last}:", f"{last}.")):
        return where + message[len(last) :]
    return f"{where}: {message}" if where else message


def has_default(field: "dataclasses.Field[Any]") -> bool:
    """Whether a setting may be left out."""
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _mistyped(value: Any, wanted: str, where: str) -> ConfigError:
    return ConfigError(f"{where or 'settings'}: must be {wanted}, but is {value!r}")


_WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", Path: "a path"}


def in_words(hint: Any) -> str:
    """What a value of this type is, in words: `a whole number`, `one of the masks`."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        named = [f"one of the {extra.kind}" for extra in options[1:] if isinstance(extra, Choice)]
        return named[0] if named else in_words(options[0])
    if origin is Literal:
        return "one of " + ", ".join(map(str, options))
    if origin in (Union, types.UnionType):
        return " or ".join('"none"' if option is type(None) else in_words(option) for option in options)
    if origin in (list, tuple, Sequence):
        return "a list"
    if origin in (dict, Mapping) or hint in (dict, Mapping) or dataclasses.is_dataclass(hint):
        return "a table of settings"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
