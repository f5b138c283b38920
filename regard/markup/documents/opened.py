"""An opened document: the passages to translate, and how to write it with their translations.

Each file of this folder opens one format. What is not translated is written as it was read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.base.errors import RegardError
from regard.decoding.translation import TranslateTexts
from regard.markup.document import Translatable, translate_passages
from regard.markup.html_text import tokens
from regard.markup.placeholders import Kept
from regard.markup.segments import Inline, Mark

_AT_ONCE = 256
_DEFAULT = Kept()


@dataclass(frozen=True)
class Wording:
    """A passage that is written as it is, without entities or escapes."""

    items: tuple[Inline, ...]

    def write(self, text: str) -> str:
        """The text."""
        return text


def tagged(text: str) -> Wording:
    """Text with its tags, such as <i>; those without a counterpart stay beside their words."""
    found = list(tokens(text))
    opened: list[int] = []
    pairs: dict[int, str] = {}
    for at, token in enumerate(found):
        if token.role == "open":
            opened.append(at)
        elif token.role == "close" and opened and found[opened[-1]].name == token.name:
            pairs |= {opened.pop(): "open", at: "close"}
    items: list[Inline] = []
    for at, token in enumerate(found):
        role = pairs.get(at)
        if token.role == "text":
            items.append(token.written)
        else:
            items.append(Mark(token.written, "open" if role == "open" else "close" if role == "close" else "single"))
    return Wording(tuple(items))


@dataclass(frozen=True)
class OpenDocument:
    """A document whose passages can be translated."""

    passages: Sequence[Translatable]
    write: Callable[[Sequence[str]], bytes]
    """the file with these texts in place of its passages"""

    @property
    def text(self) -> str:
        """All that is translated, a line for each passage: to count its letters and to identify its language."""
        return "\n".join("".join(one for one in part.items if isinstance(one, str)) for part in self.passages)

    def translated(
        self,
        translate: TranslateTexts,
        linked: TranslateTexts | None = None,
        kept: Kept = _DEFAULT,
        advance: Callable[[int], object] = lambda count: None,
    ) -> bytes:
        """The file with its passages translated.

        `linked` translates passages with tags, and should give alignments; by default it is `translate`. `advance` is
        called with the number of passages that were done.
        """
        done: list[str] = []
        for start in range(0, len(self.passages), _AT_ONCE):
            some = self.passages[start : start + _AT_ONCE]
            done += translate_passages(translate, some, kept, linked=linked)
            advance(len(some))
        return self.write(done)


def decoded(content: bytes, name: str) -> str:
    """The UTF-8 text of a file; a byte order mark is dropped."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        found = f"byte 0x{content[error.start]:02x}"
        raise RegardError(f"{name}, line {line}: {found} is not UTF-8; convert the text to UTF-8") from error


def interleaved(between: Sequence[str], written: Sequence[str]) -> bytes:
    """The file of what stands between passages, one more than there are, and their translations."""
    parts = [between[0], *(part for pair in zip(written, between[1:], strict=True) for part in pair)]
    return "".join(parts).encode("utf-8", "surrogatepass")
