"""A member without settings."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Circle:
    """No sides."""
