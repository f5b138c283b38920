"""The words of a text that alignments link, and where they stand."""

import re

Span = tuple[int, int]

_WORD = re.compile(r"[^\s▁]+")


def word_spans(text: str) -> list[Span]:
    """Start and end of each word."""
    return [match.span() for match in _WORD.finditer(text)]
