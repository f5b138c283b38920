"""What can go wrong, as one plain sentence: where, what, and what would be right.

Commands print the sentence and leave with the error's exit code; a traceback is for faults of ours.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class RegardError(Exception):
    """A failure that its sentence explains."""

    exit_code = 1


class UsageError(RegardError, ValueError):
    """Something was asked for in a way that cannot be served."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown, missing, of the wrong type or out of range."""


class ShapeError(UsageError):
    """A tensor does not have the shape or type that its place asks for."""


class CombinationError(UsageError):
    """Two parts, each right by itself, do not go together."""


def unknown(where: str, name: str, known: Iterable[str], kind: str) -> str:
    """The sentence for a name that is not among the known ones, with the nearest of them."""
    options = sorted(known)
    near = get_close_matches(name, options, n=1)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    return f"{where}: unknown '{name}'{hint}; {kind} are: {', '.join(options)}"


def check_at_least(where: str, least: float, **settings: float) -> None:
    """Every setting is `least` or more, or a ConfigError names the one that is not."""
    for name, value in settings.items():
        if value < least:
            raise ConfigError(f"{where}: {name} must be at least {least}, but is {value}")


def check_one_of(where: str, options: Iterable[str], **settings: str) -> None:
    """Every setting is one of the options, or a ConfigError lists them."""
    for name, value in settings.items():
        if value not in options:
            raise ConfigError(unknown(f"{where}.{name}", value, options, "choices"))
