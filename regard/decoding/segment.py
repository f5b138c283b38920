"""Segmentation of sentences that are too long for a model.

A text is split into sentences; a sentence that is still too long is cut between clauses, then at spaces, and only a
word that no part can hold is cut inside.
"""

import re
from collections.abc import Callable, Sequence

from regard.base.errors import UsageError
from regard.decoding.sentences import sentences

Measure = Callable[[str], int]

_CLOSING = r"[\"'”’»›)\]}」』）】〉》]*"
_CLAUSES = (
    re.compile(rf"[;；؛·]+{_CLOSING}\s*"),
    re.compile(rf"(?:[:,،–—]+{_CLOSING}\s+)|[，、：]+{_CLOSING}\s*"),
    re.compile(r"\s+"),
)


def split_text(text: str, longest: int, measure: Measure, language: str | None = None) -> list[str]:
    """Split a text into parts of at most `longest` tokens, as `measure` counts them; only spaces are lost."""
    if longest < 1:
        raise UsageError(f"split: a part must be allowed at least 1 token, not {longest}")
    text = text.strip()
    if measure(text) <= longest:
        return [text] if text else []
    parts = []
    for sentence in map(str.strip, sentences(text, language)):
        parts += [sentence] if measure(sentence) <= longest else _cut(sentence, longest, measure, _CLAUSES)
    return parts


def _cut(text: str, longest: int, measure: Measure, places: Sequence[re.Pattern[str]]) -> list[str]:
    """Cut at the first kind of place and, where a part is still too long, at the next kind."""
    if not places:
        return _cut_anywhere(text, longest, measure)
    starts = [0, *(match.end() for match in places[0].finditer(text) if match.end() < len(text))]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    fitting = []
    for piece in pieces:
        fitting += [piece] if measure(piece) <= longest else _cut(piece, longest, measure, places[1:])
    return _pack(fitting, longest, measure)


def _pack(pieces: list[str], longest: int, measure: Measure) -> list[str]:
    """Join neighboring pieces as far as they fit, into parts of about equal length."""
    sizes = [measure(piece) for piece in pieces]
    total = sum(sizes)
    goal = total / -(-total // longest) if total else longest
    parts, size = [pieces[0]], sizes[0]
    for piece, more in zip(pieces[1:], sizes[1:], strict=True):
        if size < goal and size + more <= longest and measure(parts[-1] + piece) <= longest:
            parts[-1], size = parts[-1] + piece, size + more
        else:
            parts.append(piece)
            size = more
    return [part.strip() for part in parts if part.strip()]


def _cut_anywhere(text: str, longest: int, measure: Measure) -> list[str]:
    parts = []
    while text:
        end = min(len(text), longest)
        while end > 1 and measure(text[:end]) > longest:
            end //= 2
        parts.append(text[:end])
        text = text[end:]
    return parts
