"""Documents by the ending of their names: text, HTML, Markdown, subtitles, message catalogs, Word.

document = open_document(Path("report.docx").read_bytes(), "report.docx")
document.translated(translator.translate)
"""

from collections.abc import Callable
from pathlib import PurePath

from regard.base.errors import UsageError
from regard.markup.documents.gettext_messages import read_messages
from regard.markup.documents.markdown import read_markdown
from regard.markup.documents.opened import OpenDocument
from regard.markup.documents.plain_text import read_plain
from regard.markup.documents.subtitles import read_subtitles
from regard.markup.documents.webpage import read_webpage
from regard.markup.documents.word import read_word

READERS: dict[str, Callable[[bytes, str], OpenDocument]] = {
    ".txt": read_plain,
    ".html": read_webpage,
    ".htm": read_webpage,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".srt": read_subtitles,
    ".vtt": read_subtitles,
    ".po": read_messages,
    ".pot": read_messages,
    ".docx": read_word,
}
"""the reader of each ending"""


def has_reader(name: str) -> bool:
    """Whether files of this name can be opened as documents."""
    return PurePath(name).suffix.lower() in READERS


def open_document(content: bytes, name: str) -> OpenDocument:
    """The document in a file; the ending of its name tells the format, and what is broken is named in one sentence."""
    ending = PurePath(name).suffix.lower()
    if ending not in READERS:
        raise UsageError(f"{name}: no document that can be translated; its name may end in {', '.join(READERS)}")
    return READERS[ending](content, name)
