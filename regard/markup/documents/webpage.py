"""HTML: tags, attributes, comments, scripts and styles stay; see `html_text`."""

from regard.markup.documents.opened import OpenDocument, decoded, interleaved
from regard.markup.html_text import Between, Passage, passages


def read_webpage(content: bytes, name: str) -> OpenDocument:
    """Open an HTML document or fragment."""
    between, found = between_passages(decoded(content, name))
    return OpenDocument(found, lambda done: interleaved(between, done))


def between_passages(html: str) -> tuple[list[str], list[Passage]]:
    """The passages of HTML, and what stands before, between and after them."""
    between, found = [""], []
    for part in passages(html):
        if isinstance(part, Between):
            between[-1] += part.written
        else:
            found.append(part)
            between.append("")
    return between, found
