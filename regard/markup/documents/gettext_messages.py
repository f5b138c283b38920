"""Message catalogs of gettext (.po), read and written by polib: messages without a translation get one.

Message ids, plurals, comments, contexts and flags stay, and so do existing translations and obsolete messages. The
first plural form translates the singular, the others the plural; the header says how many there are.
"""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.markup.documents.opened import OpenDocument, decoded, tagged

_FORMS = re.compile(r"nplurals\s*=\s*(\d+)")
_LINE = re.compile(r'\s*(?:#(?!~).*|(?:#~\|?\s*)?(?:(?:msg\w+(?:\[\d+\])?\s*)?".*")?)\s*')
_BREAK = re.compile(r"(\r?\n)")
_MOST_FORMS = 8


def read_messages(content: bytes, name: str) -> OpenDocument:
    """Open a message catalog."""
    catalog = _parsed(decoded(content, name), name)
    forms = _FORMS.search(catalog.metadata.get("Plural-Forms", ""))
    count = min(int(forms[1]), _MOST_FORMS) if forms else 2
    wanted = [(entry, key, text) for entry in catalog if not entry.obsolete for key, text in _open_forms(entry, count)]
    pieces = [_BREAK.split(text) for _, _, text in wanted]
    passages = [tagged(line) for own in pieces for line in own[::2] if line.strip()]

    def write(done: Sequence[str]) -> bytes:
        coming = iter(done)
        for (entry, key, _), own in zip(wanted, pieces, strict=True):
            lines = [next(coming) if line.strip() else line for line in own[::2]]
            text = "".join(part for pair in zip(lines, [*own[1::2], ""], strict=True) for part in pair)
            if key is None:
                entry.msgstr = text
            else:
                entry.msgstr_plural[key] = text
        return str(catalog).encode("utf-8")

    return OpenDocument(passages, write)


def _open_forms(entry: Any, count: int) -> list[tuple[int | None, str]]:
    """The forms of an entry that have no translation: their key, and the text to translate."""
    if not entry.msgid_plural:
        return [] if entry.msgstr or not entry.msgid else [(None, entry.msgid)]
    missing = [key for key in range(count) if not entry.msgstr_plural.get(key)]
    return [(key, entry.msgid if key == 0 else entry.msgid_plural) for key in missing]


def _parsed(text: str, name: str) -> Any:
    for number, line in enumerate(text.splitlines(), start=1):
        if not _LINE.fullmatch(line):  # polib would leave out what it cannot read
            right = 'msgid "text"'
            raise RegardError(f"{name}, line {number}: not a line of a message catalog, such as {right}")
    try:
        polib = import_module("polib")
    except ImportError as error:
        raise RegardError(f"{name}: message catalogs need polib: {install_hint('documents')}") from error
    try:
        return polib.pofile(text + "\n", wrapwidth=78)
    except (OSError, ValueError, IndexError, AttributeError) as error:
        reason = re.sub(r"\s+", " ", str(error)).strip()[:200]
        raise RegardError(
            f"{name}: not a message catalog that can be read: {reason or type(error).__name__}"
        ) from error
