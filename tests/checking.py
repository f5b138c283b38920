"""Shapes are checked as types: every function of the package checks what it is given and what it gives back.

jaxtyping's own decorator makes two functions of each that it decorates, at import, and binds the arguments of every
call. This one has beartype look at a function when it is first called, and costs a tenth of that.
"""

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jaxtyping
from beartype import BeartypeConf, FrozenDict, beartype

# An int may stand where a float is wanted, as for other type checkers; and functions are checked one by one,
# where beartype cannot know which class Self is.
WANTED = BeartypeConf(
    is_pep484_tower=True, hint_overrides=FrozenDict({typing.Self: Any}), violation_type=jaxtyping.TypeCheckError
)
SHAPES = jaxtyping.jaxtyped


def install(package: str) -> None:
    """Check what is imported of this package from now on; `jaxtyping.config` says whether, at every call."""
    jaxtyping.jaxtyped = decorate
    jaxtyping.install_import_hook(package, None)


def decorate(function: Any = None, *, typechecker: Any = None) -> Any:
    """What jaxtyping's import hook puts above every function and every class."""
    if function is None:
        return decorate
    if not inspect.isclass(function):
        return checked(function)
    if dataclasses.is_dataclass(function) and "__init__" in vars(function):
        function.__init__ = checked(function.__init__)
    return function


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with its arguments and its result checked; a letter of shapes is one number in a call."""
    if hasattr(function, "__wrapped__"):
        return function
    checking: Callable[..., Any] | None = None
    hints, names = function.__annotations__, function.__globals__
    hints = {name: known(hint, names) if isinstance(hint, str) else hint for name, hint in hints.items()}

    @functools.wraps(function)
    def called(*args: Any, **settings: Any) -> Any:
        nonlocal checking
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **settings)
        if checking is None:
            function.__annotations__ = {name: known(hint, names) for name, hint in hints.items()}
            checking = beartype(function, conf=WANTED)
        with SHAPES("context"):
            return checking(*args, **settings)

    return called


def known(hint: Any, names: dict[str, Any]) -> Any:
    """A type that is written as a text; anything, where it is not known yet or for type checkers alone."""
    try:
        return typing.get_type_hints(SimpleNamespace(__annotations__={"it": hint}), names, include_extras=True)["it"]
    except (NameError, AttributeError, TypeError):
        return Any
