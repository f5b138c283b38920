"""Markdown (CommonMark with tables and strikethrough), parsed by markdown-it-py.

Code, link targets, images, raw HTML tags, reference definitions and a leading front matter stay letter for letter; text
keeps its emphasis and links. The parser tells where blocks are; where inline markup is, its rules are watched for, as
the tokens do not say.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from regard.data.word_spans import Span
from regard.markup.document import Translatable
from regard.markup.documents.opened import OpenDocument, decoded, interleaved
from regard.markup.documents.webpage import between_passages
from regard.markup.segments import Atom, Inline, Mark

_FRONT_MATTER = re.compile(r"\A(?:---\n.*?\n(?:---|\.\.\.)|\+\+\+\n.*?\n\+\+\+)[^\S\n]*(?:\n|\Z)", re.DOTALL)
_BLOCK_START = re.compile(r"\s*(?:\d{1,9}([.)])|([-+*>#]))(?=\s|#|\Z)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"(&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)")
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]*)(?:\s[^>]*)?>")
_SPECIAL = "\\`*_[]<|"
_SPAN = "span"


@dataclass(frozen=True)
class InlineText:
    """The text of a paragraph, heading or cell. Characters that mean markup are escaped, unless the text had them."""

    items: tuple[Inline, ...]
    plain: frozenset[str] = field(default_factory=frozenset)
    """special characters that the text had as they are"""
    starts_block: bool = False

    def write(self, text: str) -> str:
        """Escape a text."""
        written = "".join(f"\\{one}" if one in _SPECIAL and one not in self.plain else one for one in text)
        return re.sub(r"\s*\n\s*", " ", written)


def read_markdown(content: bytes, name: str) -> OpenDocument:
    """Open a Markdown document."""
    text = decoded(content, name).replace("\r\n", "\n")
    head = _FRONT_MATTER.match(text)
    start = head.end() if head else 0
    found = sorted(_passages(text, start), key=lambda one: one[0])
    ends, starts = [0, *(end for (_, end), _ in found)], [*(begin for (begin, _), _ in found), len(text)]
    between = [text[end:begin] for end, begin in zip(ends, starts, strict=True)]

    def write(done: Sequence[str]) -> bytes:
        rows = zip(done, (passage for _, passage in found), strict=True)
        return interleaved(between, [_guarded(one, passage) for one, passage in rows])

    return OpenDocument([passage for _, passage in found], write)


def _guarded(written: str, passage: Translatable) -> str:
    """The text, escaped if it would begin a list, a quote or a heading that the source did not have."""
    risky = _BLOCK_START.match(written)
    if risky is None or not isinstance(passage, InlineText) or passage.starts_block:
        return written
    at = risky.start(1) if risky[1] else risky.start(2)
    return f"{written[:at]}\\{written[at:]}"


def _passages(text: str, start: int) -> Iterator[tuple[Span, Translatable]]:
    """The passages of a document, and where each stands."""
    parser = _parser()
    first = text.count("\n", 0, start)
    lines = [0, *(found.end() for found in re.finditer("\n", text)), len(text)]
    after: dict[int, int] = {}
    for token in parser.parse(text[start:]):
        if token.map is None or token.type not in ("inline", "html_block"):
            continue
        begin, end = lines[first + token.map[0]], lines[min(first + token.map[1], len(lines) - 1)]
        if token.type == "html_block":
            yield from _in_html(text[begin:end], begin)
        else:
            at = max(begin, after.get(begin, 0))
            places = _places(text, at, end, token.content)
            if places:
                after[begin] = places[-1][1]
                yield from _inline(token, places)


def _in_html(block: str, start: int) -> Iterator[tuple[Span, Translatable]]:
    between, found = between_passages(block)
    written = ["".join(_raw(item) for item in passage.items) for passage in found]
    at = start + len(between[0])
    for passage, own, gap in zip(found, written, between[1:], strict=True):
        if block[at - start : at - start + len(own)] != own:  # written with entities: left as it is
            return
        yield (at, at + len(own)), passage
        at += len(own) + len(gap)


def _raw(item: Inline) -> str:
    return item if isinstance(item, str) else item.written or ""


def _places(text: str, at: int, end: int, content: str) -> list[Span]:
    """Where each line of a block's text stands in the document; none if it is written in another way."""
    places = []
    for line in content.split("\n"):
        found = text.find(line, at, end)
        if found < 0:
            return []
        places.append((found, found + len(line)))
        at = found + len(line)
    return places


def _inline(token: Token, places: list[Span]) -> Iterator[tuple[Span, Translatable]]:
    """The passages of a block's text: all of it, or what is between hard line breaks."""
    content = token.content
    starts, total = [], 0
    for begin, end in places:
        starts.append(total)
        total += end - begin + 1
    cuts = [span for kind, span in _spans(token) if kind.type == "hardbreak"]
    bounds = [0, *(at for first, last in cuts for at in (first, last)), len(content)]
    for first, last in zip(bounds[::2], bounds[1::2], strict=True):
        inner = content[first:last]
        first, last = first + len(inner) - len(inner.lstrip()), last - len(inner) + len(inner.rstrip())
        items = tuple(_paired(list(_items(token, first, last))))
        if any(isinstance(item, str) and re.search(r"\w", item) for item in items):
            here, there = _place(first, starts, places), _place(last - 1, starts, places) + 1
            plain = "".join(item for item in _items(token, first, last, raw=True) if isinstance(item, str))
            special = frozenset(one for one in _SPECIAL if one in _ESCAPED.sub("", plain) and f"\\{one}" not in plain)
            yield (here, there), InlineText(items, special, _BLOCK_START.match(plain) is not None)


def _place(at: int, starts: list[int], places: list[Span]) -> int:
    number = max(row for row, start in enumerate(starts) if start <= at)
    return places[number][0] + at - starts[number]


def _items(token: Token, first: int, last: int, raw: bool = False) -> Iterator[Inline]:
    """The texts, tags and code of a part of a block's text."""
    at = first
    for kind, (start, end) in _spans(token):
        if start < at or end > last:
            continue
        if start > at:
            yield from [token.content[at:start]] if raw else _unescaped(token.content[at:start])
        written = token.content[start:end]
        if kind.nesting:
            yield Mark(written, "open" if kind.nesting > 0 else "close", hollow=kind.type.startswith("link"))
        elif kind.type == "code_inline" or kind.info == "auto":
            yield Atom(kind.content or written, written)
        else:
            yield Mark(written, "single")
        at = end
    if at < last:
        yield from [token.content[at:last]] if raw else _unescaped(token.content[at:last])


def _paired(items: list[Inline]) -> list[Inline]:
    """The items, with raw HTML tags that enclose something as opening and closing ones."""
    opened: list[tuple[int, str]] = []
    for at, item in enumerate(items):
        tag = _TAG.match(item.written) if isinstance(item, Mark) else None
        if not isinstance(item, Mark) or (item.role == "single" and tag is None):
            continue
        if item.role == "open" or (tag and not tag[1]):
            opened.append((at, tag[2].lower() if tag else ""))
        elif tag is None:
            while opened and opened.pop()[1]:
                pass
        elif opened and opened[-1][1] == tag[2].lower():
            start = opened.pop()[0]
            items[start], items[at] = Mark(_raw(items[start]), "open"), Mark(item.written, "close")
    return items


def _unescaped(text: str) -> Iterator[Inline]:
    """A text as it is read, with entities as atoms, which are written as they were."""
    for number, part in enumerate(_ENTITY.split(text)):
        if part:
            yield Atom(html.unescape(part), part) if number % 2 else _ESCAPED.sub(r"\1", part)


def _spans(token: Token) -> list[tuple[Token, Span]]:
    """The tokens of inline markup, and where each is written in the block's text."""
    found = [(child, child.meta[_SPAN]) for child in token.children or () if _SPAN in child.meta]
    return _unautolinked(sorted(found, key=lambda one: one[1]))


def _unautolinked(found: list[tuple[Token, Span]]) -> list[tuple[Token, Span]]:
    """With each address in angle brackets as one token."""
    merged: list[tuple[Token, Span]] = []
    for child, span in found:
        if child.markup == "autolink":
            if child.nesting > 0:
                whole = Token("autolink", "", 0, info="auto", content=str(child.attrGet("href")))
                merged.append((whole, child.meta["whole"]))
        else:
            merged.append((child, span))
    return merged


def _parser() -> MarkdownIt:
    """A parser whose inline tokens know where they are written."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for rule in parser.inline.ruler.__rules__:
        rule.fn = _watched(rule.fn, rule.name)
    parser.inline.ruler.__cache__ = None
    parser.inline.ruler2.before("fragments_join", "spans", _settle)
    return parser


def _watched(rule: Any, name: str) -> Any:
    """The inline rule, which notes where the tokens that it makes are written."""

    def watched(state: StateInline, silent: bool) -> bool:
        start, before, pending = state.pos, len(state.tokens), len(state.pending)
        if not rule(state, silent):
            return False
        made = state.tokens[before + bool(pending) :] if not silent else []
        if name in ("emphasis", "strikethrough"):
            width = 1 if name == "emphasis" else (state.pos - start) // max(1, len(made))
            for number, token in enumerate(made):
                token.meta[_SPAN] = (start + number * width, start + (number + 1) * width)
        elif name in ("link", "autolink") and len(made) > 1:
            label = state.md.helpers.parseLinkLabel(state, start, True) if name == "link" else state.pos - 1
            made[0].meta[_SPAN], made[-1].meta[_SPAN] = (start, start + 1), (label, state.pos)
            made[0].meta["whole"] = (start, state.pos)
        elif made and made[-1].type in ("code_inline", "image", "html_inline", "hardbreak"):
            made[-1].meta[_SPAN] = (start, state.pos)
        return True

    return watched


def _settle(state: StateInline) -> None:
    """After emphasis was paired: delimiters that are text lose their place, those of two characters are one."""
    tokens = state.tokens
    for at, token in enumerate(tokens):
        if _SPAN not in token.meta or token.type != "text":
            continue
        neighbors = [tokens[near] for near in (at + 1, at - 1) if 0 <= near < len(tokens)]
        for near in neighbors:
            if token.content == "" and near.type.startswith(("strong_", "s_")) and _SPAN in near.meta:
                start, end = sorted((*token.meta[_SPAN], *near.meta[_SPAN]))[::3]
                if end - start == 2:
                    near.meta[_SPAN] = (start, end)
                    break
        del token.meta[_SPAN]
