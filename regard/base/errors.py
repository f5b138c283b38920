"""Errors, each with one plain sentence: where, what, and what would be right.

Commands print the sentence and exit with the error's code; a traceback means a bug in Regard.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class RegardError(Exception):
    """An error that its message explains; the base of all errors of Regard.

    >>> try:
    ...     load("no/such/run")
    ... except RegardError as error:
    ...     sentence = str(error)
    """

    exit_code = 1

    def __str__(self) -> str:
        """The message in one line: what it quotes may have line breaks and other control characters."""
        return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], super().__str__().replace("\n", " "))


class UsageError(RegardError, ValueError):
    """A request is invalid: an argument, an option or a call."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown, missing, of the wrong type or out of range."""


class ShapeError(UsageError):
    """A tensor has the wrong shape or dtype."""


class CombinationError(UsageError):
    """Two parts, each valid by itself, cannot be combined."""


def unknown(where: str, name: str, known: Iterable[str], kind: str) -> str:
    """The error message for an unknown name; it suggests the nearest known one."""
    options = sorted(known)
    near = get_close_matches(name, options, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return f"{where}: unknown '{name}'{hint}; {kind} are: {', '.join(options)}"


def check_at_least(where: str, least: float, **settings: float) -> None:
    """Raise a ConfigError if a setting is less than `least`, or not a number."""
    for name, value in settings.items():
        if not value >= least:
            raise ConfigError(f"{where}: {name} must be at least {least}, but is {value}")


def check_at_most(where: str, most: float, **settings: float) -> None:
    """Raise a ConfigError if a setting is more than `most`, or not a number."""
    for name, value in settings.items():
        if not value <= most:
            raise ConfigError(f"{where}: {name} must be at most {most:,}, but is {value}")


def check_one_of(where: str, options: Iterable[str], **settings: str) -> None:
    """Raise a ConfigError if a setting is not one of the options."""
    for name, value in settings.items():
        if value not in options:
            raise ConfigError(unknown(f"{where}.{name}", value, options, "choices"))
