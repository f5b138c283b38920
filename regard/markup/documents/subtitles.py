"""Subtitles, SubRip (.srt) and WebVTT (.vtt): times, cue settings, notes and styles stay letter for letter.

Read by hand, since the libraries for these formats write times, tags and settings in their own way. A cue's lines are
translated as one text, unless each is a speaker's, and then broken into at most as many lines.
"""

import re
from collections.abc import Sequence

from regard.base.errors import RegardError
from regard.markup.documents.opened import OpenDocument, decoded, interleaved, tagged

_TIME = r"(?:\d+:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = re.compile(rf"[^\S\n]*{_TIME}[^\S\n]*-->[^\S\n]*{_TIME}(?:[^\S\n][^\n]*)?")
_SPEAKER = re.compile(r"\s*(?:<[^>]*>)*\s*[-–—‐]")
_LINE = re.compile(r"[^\n]*\n?")


def read_subtitles(content: bytes, name: str) -> OpenDocument:
    """Open subtitles."""
    text = decoded(content, name)
    between, cues = [""], list[list[str]]()
    inside: list[str] | None = None
    for number, line in enumerate(_LINE.findall(text), start=1):
        if inside is None or not line.strip():
            if "-->" in line and _TIMES.fullmatch(line.rstrip()) is None:
                raise RegardError(
                    f"{name}, line {number}: not the times of a cue, such as 00:00:01,000 --> 00:00:02,500"
                )
            if inside:
                _add(inside, between, cues)
            between[-1] += line
            inside = [] if "-->" in line else None
        else:
            inside.append(line)
    if inside:
        _add(inside, between, cues)
    if not cues and text.strip():
        raise RegardError(f"{name}: has no cue, so these are no subtitles")
    shapes = [len(lines) for lines in cues]
    passages = [tagged("".join(line.rstrip("\r\n") + " " for line in lines).strip()) for lines in cues]

    def write(done: Sequence[str]) -> bytes:
        broken = [wrapped(one, count) for one, count in zip(done, shapes, strict=True)]
        return interleaved(between, broken)

    return OpenDocument(passages, write)


def _add(lines: list[str], between: list[str], cues: list[list[str]]) -> None:
    """Add a cue: all its lines as one passage, or each by itself where speakers take turns."""
    alone = sum(_SPEAKER.match(line) is not None for line in lines) > 1
    for own in [[line] for line in lines] if alone else [lines]:
        cues.append(own)
        last = own[-1]
        between.append(last[len(last.rstrip("\r\n")) :])


def wrapped(text: str, lines: int) -> str:
    """A text in at most so many lines of about equal length, broken at spaces outside tags."""
    text = " ".join(text.split())
    spaces = [found.start() for found in re.finditer(r" (?![^<>]*>)", text)]
    breaks: list[int] = []
    for number in range(1, lines):
        goal = len(text) * number / lines
        free = [at for at in spaces if not breaks or at > breaks[-1]]
        if free:
            breaks.append(min(free, key=lambda at: abs(at - goal)))
    for at in breaks:
        text = f"{text[:at]}\n{text[at + 1 :]}"
    return text
