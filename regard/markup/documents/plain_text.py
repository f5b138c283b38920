"""Plain text: each line is a passage; in it, sentences are translated one by one."""

import re

from regard.markup.documents.opened import OpenDocument, Wording, decoded, interleaved

_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")


def read_plain(content: bytes, name: str) -> OpenDocument:
    """Open a text file."""
    text = decoded(content, name)
    lines = list(_LINE.finditer(text))
    ends, starts = [0, *(line.end() for line in lines)], [*(line.start() for line in lines), len(text)]
    between = [text[end:start] for end, start in zip(ends, starts, strict=True)]
    return OpenDocument([Wording((line[0],)) for line in lines], lambda done: interleaved(between, done))
