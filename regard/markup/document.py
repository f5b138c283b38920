"""Translation of text with markup: tags, placeholders and addresses are kept unchanged and put where they belong.

A model that never saw a placeholder may fail to copy it. So a text is first translated as it is. If the translation
does not have every placeholder exactly as often as the text, the text is translated again in three ways: with numbers
in place of placeholders, which models tend to copy; without placeholders, which are then inserted beside the words that
are aligned with their neighbors; and in the pieces between placeholders. The first translation with all placeholders is
taken; the pieces always have them. Emoji and other signs that the model cannot read are kept in the same way, but no
number stands for them. A text without markup is translated as it would be without this module.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, Self, runtime_checkable

from regard.data.subwords.tokenizer import Subwords
from regard.data.word_spans import Span
from regard.decoding.layout import Layout, lay_out
from regard.decoding.translation import Candidate, TranslateTexts, Translation, joined
from regard.markup.html_text import Between, Passage, passages
from regard.markup.insertion import inserted, without_atoms
from regard.markup.placeholders import ALWAYS, Kept, stand_ins
from regard.markup.projection import Placement
from regard.markup.rendering import Rendering, accepted, in_pieces, pieces
from regard.markup.segments import Inline, Mark, Segment, with_placeholders
from regard.markup.unreadable import Unreadable


@runtime_checkable
class Translatable(Protocol):
    """Text that is translated as one segment, and how it is written in its format."""

    @property
    def items(self) -> tuple[Inline, ...]:
        """The texts, atoms and tags."""

    def write(self, text: str) -> str:
        """Escape a text."""


LayOut = Callable[[str, Sequence[Span]], Layout]

_DEFAULT = Kept()
_LINE_BREAK = re.compile(r"[\r\n]")


def _sentences(text: str, whole: Sequence[Span]) -> Layout:
    return lay_out(text, whole=whole)


@dataclass(frozen=True)
class Keeping:
    """Keeps placeholders in plain texts: what a `Translator` takes as its `keeper`."""

    kept: Kept = _DEFAULT

    @classmethod
    def between(
        cls, source: Subwords, target: Subwords, kinds: tuple[str, ...] = ALWAYS, *, copies: bool = False
    ) -> Self:
        """Keeps placeholders of these kinds, and what the source cannot read, unless the model `copies` it."""
        return cls(Kept(kinds, None if copies else Unreadable(source, target)))

    def finds(self, text: str) -> list[Span]:
        """The spans of the placeholders in a text."""
        return self.kept.find(text)

    def __call__(
        self, texts: list[str], translate: TranslateTexts, repair: TranslateTexts, lay_out: LayOut
    ) -> list[Translation]:
        """Translations with all placeholders; see `translate_texts`."""
        return translate_texts(translate, texts, self.kept, repair=repair, lay_out=lay_out)


def translate_html(translate: TranslateTexts, html: str, kept: Kept = _DEFAULT) -> str:
    """An HTML document or fragment with its text translated; see `translate_pages`."""
    return translate_pages(translate, [html], kept)[0]


def translate_text(translate: TranslateTexts, text: str, kept: Kept = _DEFAULT) -> str:
    """A plain text translated with its placeholders kept."""
    return translate_texts(translate, [text], kept)[0].text


def translate_pages(translate: TranslateTexts, pages: Sequence[str], kept: Kept = _DEFAULT) -> list[str]:
    """HTML documents or fragments with their texts translated, in one batch.

    Block tags separate segments; inline tags enclose the words that are aligned with what they enclosed, if `translate`
    gives alignments, else words at the same relative position. Every tag is written exactly once, letter for letter,
    and properly nested. Comments, scripts, styles, `pre`, `code`, elements with `translate="no"` and attributes stay
    as they are. In translated text `&`, `<` and `>` are written as entities.
    """
    documents = [list(passages(page)) for page in pages]
    found = [part for document in documents for part in document if isinstance(part, Passage)]
    written = iter(translate_passages(translate, found, kept))
    return [
        "".join(part.written if isinstance(part, Between) else next(written) for part in document)
        for document in documents
    ]


def translate_passages(
    translate: TranslateTexts,
    found: Sequence[Translatable],
    kept: Kept = _DEFAULT,
    *,
    linked: TranslateTexts | None = None,
) -> list[str]:
    """Passages translated and written with their tags and placeholders; line breaks in them are mere white space.

    `linked` translates those with tags, and those whose placeholders were lost; by default it is `translate`.
    """
    segments = [with_placeholders(part.items, kept) for part in found]
    with_tags = [any(isinstance(item, Mark) for item in segment.items) for segment in segments]
    done: dict[int, str] = {}
    for own, first in ((True, linked or translate), (False, translate)):
        some = [at for at, tags in enumerate(with_tags) if tags is own]
        again = partial(_in_one_line, linked or translate)
        rendered = _render(partial(_in_one_line, first), again, [segments[at] for at in some], kept)
        done |= {at: _written(found[at], segments[at], one) for at, one in zip(some, rendered, strict=True)}
    return [done[at] for at in range(len(found))]


def translate_texts(
    translate: TranslateTexts,
    texts: Sequence[str],
    kept: Kept = _DEFAULT,
    *,
    repair: TranslateTexts | None = None,
    lay_out: LayOut = _sentences,
) -> list[Translation]:
    """Plain texts translated with their placeholders kept; a text without any is translated as usual.

    Each sentence is translated, and repaired, by itself. A sentence with placeholders gets only its best translation:
    others may have lost some. Sentences that lost some are translated again by `repair`, by default `translate`.
    """
    layouts = [lay_out(text, kept.find(text)) for text in texts]
    segments = [with_placeholders([piece], kept) for layout in layouts for piece in layout.pieces]
    rendered = _render(translate, repair or translate, segments, kept)
    each = iter([_plain(*one) for one in zip(segments, rendered, strict=True)])
    return [joined(layout, [next(each) for _ in layout.pieces]) for layout in layouts]


def _in_one_line(translate: TranslateTexts, texts: list[str]) -> list[Translation]:
    """Translate texts whose line breaks are mere white space, as in HTML; what the model leaves as it is keeps them."""
    asked = [_LINE_BREAK.sub(" ", text) for text in texts]
    rows = zip(texts, asked, translate(asked), strict=True)
    return [replace(found, text=text) if found.text == one else found for text, one, found in rows]


def _plain(segment: Segment, found: Rendering) -> Translation:
    atoms = [atom.text for atom in segment.atoms]
    origin = found.origin or Translation("", found.score, ())
    if not atoms:
        return origin
    text = found.with_atoms(atoms)
    best = origin.n_best[0] if origin.n_best else Candidate(text, found.score, (), (), found.score)
    numbered = found.reading.text == segment.read().text  # not with stand-ins, which are other words
    links = found.links if numbered and (found.origin is None or origin.alignment is not None) else None
    return replace(origin, text=text, n_best=(replace(best, text=text),), alignment=links)


def _written(passage: Translatable, segment: Segment, found: Rendering) -> str:
    """The translation with its tags."""
    found = found.spaced()
    atoms = [passage.write(atom.text) if atom.written is None else atom.written for atom in segment.atoms]
    here: list[tuple[int, int, str]] = []
    here += [(start, end, written) for (start, end), written in zip(found.atoms, atoms, strict=True)]
    here += [(at, at, mark.written) for at, mark in _enclosing(found.placements())]
    pieces, at = [], 0
    for start, end, written in sorted(here, key=lambda one: one[:2]):
        pieces += [passage.write(found.text[at:start]), written]
        at = end
    return "".join([*pieces, passage.write(found.text[at:])])


def _enclosing(placed: Sequence[Placement]) -> list[Placement]:
    """The marks without those pairs that must enclose something and do not: their words have no translation."""
    found: list[Placement] = []
    for at, mark in placed:
        if mark.role == "close" and not mark.hollow and found and found[-1][0] == at and found[-1][1].role == "open":
            found.pop()
        else:
            found.append((at, mark))
    return found


def _render(
    translate: TranslateTexts, repair: TranslateTexts, segments: Sequence[Segment], kept: Kept
) -> list[Rendering]:
    """Translate every segment with its atoms in it, in at most two calls."""
    asked = [segment for segment in segments if _speaks(segment)]
    answers = iter(translate([segment.read().text for segment in asked]) if asked else ())
    found = [
        accepted(segment.read(), next(answers), [atom.text for atom in segment.atoms], kept)
        if _speaks(segment)
        else in_pieces(segment, [], kept)
        for segment in segments
    ]
    wanting = [segment for segment, one in zip(segments, found, strict=True) if one is None]
    repaired = iter(_repair(repair, wanting, kept))
    return [next(repaired) if one is None else one for one in found]


def _speaks(segment: Segment) -> bool:
    """Whether there is something to translate: more than white space and placeholders."""
    return any(part.speaks for part in pieces(segment)) if segment.atoms else bool(segment.read().text.strip())


def _repair(translate: TranslateTexts, segments: list[Segment], kept: Kept) -> list[Rendering]:
    """Translate segments that lost atoms again: with stand-ins, without atoms, and in pieces."""
    names = [stand_ins(len(segment.atoms), segment.read().text) for segment in segments]
    asked = [
        [segment.read(own).text, without_atoms(segment).text, *(part.body for part in pieces(segment) if part.speaks)]
        for segment, own in zip(segments, names, strict=True)
    ]
    flat = [text for texts in asked for text in texts]
    answers = iter(translate(flat) if flat else ())
    found = []
    for segment, own, texts in zip(segments, names, asked, strict=True):
        replaced, bare, *parts = [next(answers) for _ in texts]
        signs = all(kept.is_sign(atom.text) for atom in segment.atoms)  # a number in their place would count something
        found.append(
            (None if signs else accepted(segment.read(own), replaced, own, kept))
            or inserted(segment, bare, kept)
            or in_pieces(segment, parts, kept)
        )
    return found
