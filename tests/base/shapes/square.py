"""A member with a setting."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Square:
    """Four sides."""

    size: int = 1
