"""Segmentation of texts that are too long for a model.

A text is split into sentences; a sentence that is still too long is cut between clauses, then at spaces, and only a
word that no part can hold is cut inside.
"""

import re
from collections.abc import Callable, Sequence

from regard.base.errors import UsageError

Measure = Callable[[str], int]

_CLOSING = r"[\"'”’»›)\]}」』）】〉》]*"
# Ends that need no space after them; then those of other scripts that have one.
_WIDE = "。！？｡．"
_ENDS = ".!?…‽؟۔।॥။።։។"
_ABBREVIATIONS = re.compile(
    "mr|mrs|ms|dr|prof|st|sr|jr|vs|vol|fig|cf|ca|approx|gen|col|capt|sgt|bzw|nr|hr|fr|evtl|ggf|vgl|mme|mlle|sra|dra|uds?"
)
_SENTENCE = re.compile(rf"(?:[{_WIDE}]+{_CLOSING})\s*|(?:[{_ENDS}]+{_CLOSING})(?:\s+|$)")
_CLAUSES = (
    re.compile(rf"[;；؛·]+{_CLOSING}\s*"),
    re.compile(rf"(?:[:,،–—]+{_CLOSING}\s+)|[，、：]+{_CLOSING}\s*"),
    re.compile(r"\s+"),
)
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


def split_text(text: str, longest: int, measure: Measure) -> list[str]:
    """Split a text into parts of at most `longest` tokens, as `measure` counts them; only spaces are lost."""
    if longest < 1:
        raise UsageError(f"split: a part must be allowed at least 1 token, not {longest}")
    text = text.strip()
    if measure(text) <= longest:
        return [text] if text else []
    parts = []
    for sentence in sentences(text):
        parts += [sentence] if measure(sentence) <= longest else _cut(sentence, longest, measure, _CLAUSES)
    return parts


def sentences(text: str) -> list[str]:
    """The sentences of a text. A period after an initial, an ordinal or a common abbreviation does not end one."""
    found, start = [], 0
    for match in _SENTENCE.finditer(text):
        if _ends_sentence(text, start, match):
            found.append(text[start : match.end()])
            start = match.end()
    found.append(text[start:])
    return [sentence.strip() for sentence in found if sentence.strip()]


def join(parts: Sequence[str]) -> str:
    """Join the translations of parts, without a space between characters of scripts that use none."""
    joined = ""
    for part in (part.strip() for part in parts):
        unspaced = joined and part and _UNSPACED.match(joined[-1]) and _UNSPACED.match(part[0])
        joined += part if not joined or not part or unspaced else f" {part}"
    return joined


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    if match.group().strip() != ".":
        return True
    if text[match.end() : match.end() + 1].islower():
        return False
    word = re.split(r"[\s(\[\"'„“«]", text[start : match.start()])[-1]
    initial = len(word) == 1 and word.isalpha() and word.isupper()
    ordinal = len(word) <= 2 and word.isdigit()
    return not (initial or ordinal or _ABBREVIATIONS.fullmatch(word.lower()) or "." in word)


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
