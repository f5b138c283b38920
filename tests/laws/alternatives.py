"""Other values for a setting, by its type, as a run file has them."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.base.catalog import Catalog

Plain = Any
"""a number, a text, a list or a table"""


def alternatives(hint: Any, now: Any) -> Iterator[Plain]:
    """Values that the setting does not have now; None is written "none"."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        catalogs = [extra for extra in options[1:] if isinstance(extra, Catalog)]
        yield from _members(catalogs[0], now) if catalogs else alternatives(options[0], now)
    elif origin in (typing.Union, types.UnionType):
        if type(None) in options and now is not None:
            yield "none"
        for option in options:
            if option is not type(None):
                yield from alternatives(option, now if _is(now, option) else None)
    elif origin is typing.Literal:
        yield from (option for option in options if option != now)
    elif dataclasses.is_dataclass(hint):
        yield from ({name: other} for name, other in changes(typing.cast(type, hint), now))
    elif origin is tuple:
        yield [other for item in (1, 2) for other in [next(alternatives(options[0], item))]]
    elif origin is dict:
        yield {"other": 1}
    else:
        yield _scalar(hint, now)


def changes(kind: type, now: Any = None) -> Iterator[tuple[str, Plain]]:
    """Every setting of a dataclass with each of its alternatives."""
    hints = typing.get_type_hints(kind, include_extras=True)
    now = kind() if now is None else now
    for field in dataclasses.fields(now):
        if field.init:
            yield from ((field.name, other) for other in alternatives(hints[field.name], getattr(now, field.name)))


def _members(catalog: Catalog, now: Any) -> Iterator[str]:
    """The members that are made from their name alone."""
    for name in catalog.names:
        member: Any = catalog.get(name)
        needed = [field for field in dataclasses.fields(member) if field.init and not _has_default(field)]
        if not needed and not isinstance(now, member):
            yield name


def _has_default(field: "dataclasses.Field[Any]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _is(value: Any, hint: Any) -> bool:
    return isinstance(hint, type) and isinstance(value, hint)


def _scalar(hint: Any, now: Any) -> Plain:
    if hint is bool:
        return not now
    if hint is int:
        return 3 if now is None else now + 1
    if hint is float:
        return 0.25 if now != 0.25 else 0.5
    if hint in (str, Path):
        return "other"
    raise LookupError(f"tests/laws/alternatives.py knows no other value for a {hint}")
