"""HTML split into segments to translate and what stands between them.

Tags are tokenized as in the standard (https://html.spec.whatwg.org/multipage/parsing.html#tokenization) and kept
unchanged, so whatever is not translated is written as it was read. Nothing is recursive: nesting may be of any depth.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from regard.markup.segments import Atom, Inline, Mark

_ATTRIBUTE = r"""[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\s>]*+))?+"""
_TAG = re.compile(rf"<(?P<slash>/?)(?P<name>[a-zA-Z][^\s/>]*+)(?:[\s/]++|{_ATTRIBUTE})*+>")
_ASIDE = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?/][^>]*+(?:>|\Z)", re.DOTALL)
_ENTITY = re.compile(r"&[^\s&;<]+;")
_BEGINNING = re.compile(r"<[a-zA-Z/!?]")
_SELF_CLOSED = re.compile(r"""(?:[\s"']|^<[^\s/>]+)/>$""")
_LEFT_ALONE = re.compile(
    r"""\s(?:translate\s*=\s*(?:"no"|'no'|no(?=[\s/>]))|class\s*=\s*(?:"[^"]*?\bnotranslate\b|'[^']*?\bnotranslate\b))""",
    re.IGNORECASE,
)

_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_UNPARSED = frozenset("script style textarea title xmp iframe noembed noframes".split())
_KEPT = frozenset("code kbd samp var pre svg math textarea script style xmp iframe noembed noframes".split())
_BLOCKS = frozenset(
    """address article aside base blockquote body br button canvas caption center col colgroup dd details dialog dir div
    dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html iframe
    legend li link main menu meta nav noembed noframes noscript ol optgroup option p param plaintext pre script search
    section select source style summary table tbody td template textarea tfoot th thead title tr track ul video audio
    object xmp""".split()
)

HtmlRole = Literal["text", "open", "close", "single", "aside"]


@dataclass(frozen=True)
class HtmlToken:
    """A tag, the text between two tags, or something else such as a comment; `written` joined is the document."""

    role: HtmlRole
    written: str
    name: str = ""


@dataclass(frozen=True)
class Between:
    """What stands between segments and is not translated."""

    written: str


@dataclass(frozen=True)
class Passage:
    """Text that is translated as one segment, with its inline tags, and the entities it used for certain characters."""

    items: tuple[Inline, ...]
    spelling: dict[str, str]

    def write(self, text: str) -> str:
        """Escape a text as HTML; characters that the passage wrote as entities become entities again."""
        entities = {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | self.spelling
        return "".join([entities.get(letter, letter) for letter in text])


def tokens(document: str) -> Iterator[HtmlToken]:
    """The tokens of the document, from its beginning to its end."""
    at = text_from = 0
    while (begun := _BEGINNING.search(document, at)) is not None:
        start = begun.start()
        match = _TAG.match(document, start) or (None if begun[0][1].isalpha() else _ASIDE.match(document, start))
        if start > text_from:
            yield HtmlToken("text", document[text_from:start])
        if match is None:  # the document ends within a tag
            yield HtmlToken("aside", document[start:])
            return
        at = text_from = match.end()
        yield (token := _token(match))
        if token.role == "open" and token.name in _UNPARSED:
            closing = re.compile(rf"</{token.name}(?=[\s/>])", re.IGNORECASE).search(document, at)
            end = closing.start() if closing else len(document)
            if end > at:
                yield HtmlToken("text", document[at:end])
            at = text_from = end
    if text_from < len(document):
        yield HtmlToken("text", document[text_from:])


def _token(match: re.Match[str]) -> HtmlToken:
    if match.re is _ASIDE:
        return HtmlToken("aside", match[0])
    name = match["name"].lower()
    if match["slash"]:
        return HtmlToken("close", match[0], name)
    alone = name in _VOID or (name not in _UNPARSED and _SELF_CLOSED.search(match[0]))
    return HtmlToken("single" if alone else "open", match[0], name)


def passages(document: str) -> Iterator[Between | Passage]:
    """The passages of a document and what stands between them, in order.

    A passage ends at every tag that is not inline, at every tag without a matching one, and at inline tags around any
    of these. So only tags that are properly nested within a passage can move, and they stay inside it.
    """
    found = _merged(list(tokens(document)))
    apart = _separators(found)
    waiting: list[HtmlToken] = []
    for number, token in enumerate(found):
        if number in apart:
            yield _passage(waiting)
            yield Between(token.written)
            waiting = []
        else:
            waiting.append(token)
    yield _passage(waiting)


def _merged(found: list[HtmlToken]) -> list[HtmlToken]:
    """The tokens, with every element that is not translated merged into one."""
    ends = _ends(found)
    merged: list[HtmlToken] = []
    at = 0
    while at < len(found):
        token = found[at]
        kept = token.role == "open" and (token.name in _KEPT or _LEFT_ALONE.search(token.written) is not None)
        unclosed = len(found) - 1 if token.name in _UNPARSED else at
        end = ends.get(at, unclosed) if kept else at
        if end > at:
            token = HtmlToken("single", "".join(one.written for one in found[at : end + 1]), token.name)
        merged.append(token)
        at = end + 1
    return merged


def _ends(found: list[HtmlToken]) -> dict[int, int]:
    """The index of the matching closing tag for the index of each opening tag."""
    ends: dict[int, int] = {}
    begun: dict[str, list[int]] = {}
    for number, token in enumerate(found):
        if token.role == "open":
            begun.setdefault(token.name, []).append(number)
        elif token.role == "close" and begun.get(token.name):
            ends[begun[token.name].pop()] = number
    return ends


def _separators(found: list[HtmlToken]) -> set[int]:
    """The indices of the tags at which passages end."""
    apart: set[int] = set()
    opened: list[int] = []  # inline, not yet closed; separators among them are all at the bottom

    def separate(number: int) -> None:
        apart.add(number)
        for outer in reversed(opened):
            if outer in apart:
                break
            apart.add(outer)

    for number, token in enumerate(found):
        if token.role in ("text", "aside"):
            continue
        if token.name in _BLOCKS:
            separate(number)
        elif token.role == "open":
            opened.append(number)
        elif token.role == "close":
            if opened and found[opened[-1]].name == token.name:
                if opened.pop() in apart:
                    apart.add(number)
            else:  # nothing that is open now can be closed in order any more
                separate(number)
                opened.clear()
    return apart.union(opened)


def _passage(inner: list[HtmlToken]) -> Between | Passage:
    written = "".join(token.written for token in inner)
    if not any(re.search(r"\w", html.unescape(token.written)) for token in inner if token.role == "text"):
        return Between(written)
    items: list[Inline] = []
    for token in inner:
        if token.role == "text":
            items.append(html.unescape(token.written))
        elif token.role in ("open", "close"):
            items.append(Mark(token.written, "open" if token.role == "open" else "close"))
        else:
            items.append(_single(token))
    return Passage(tuple(items), _spelling([token.written for token in inner if token.role == "text"]))


def _single(token: HtmlToken) -> Inline:
    """An element that is not translated: an atom if it holds words, else a mark."""
    if token.name in ("", "svg", "math"):
        return Mark(token.written, "single")
    shown = " ".join(html.unescape("".join(one.written for one in tokens(token.written) if one.role == "text")).split())
    return Atom(shown, token.written) if re.search(r"\w", shown) else Mark(token.written, "single")


def _spelling(texts: list[str]) -> dict[str, str]:
    """The characters that were always written as the same entity."""
    spelled: dict[str, set[str]] = {}
    plain: set[str] = set()
    for text in texts:
        for entity in _ENTITY.findall(text):
            spelled.setdefault(html.unescape(entity), set()).add(entity)
        plain.update(_ENTITY.sub("", text))
    once = {one: ways.pop() for one, ways in spelled.items() if len(one) == len(ways) == 1 and one not in plain - {">"}}
    return {
        one: way
        for one, way in once.items()
        if one == "\xa0" or not (one.isspace() or (one.isascii() and one.isalnum()))
    }
