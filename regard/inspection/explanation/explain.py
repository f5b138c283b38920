"""The explanation of one translation: word links, attention weights, alternatives, and the path of the search.

explanation = explain(load("runs/en-de"), "a man in a hat .")
explanation.to_dict()    # plain JSON
explanation.to_html()    # a page of its own
"""

from dataclasses import dataclass
from typing import Any

from regard.alignment.head_choice import HeadChoice
from regard.base.errors import UsageError
from regard.data.links import Link, Links
from regard.data.subwords.tokenizer import words
from regard.decoding.layout import Layout
from regard.decoding.strategy import Strategy, strategy_for
from regard.decoding.translator import Translator
from regard.inspection.explanation.forced import AttentionKind, attention_kinds
from regard.inspection.explanation.looking import find_translation, linking_heads, look_into
from regard.inspection.explanation.text_part import TextPart
from regard.inspection.page.standalone import standalone


@dataclass(frozen=True)
class Detail:
    """How much is explained: by default every part of a text, with cross-attention."""

    at: int | None = None
    """a position in the text, in characters: only the part there is explained, the others are just translated"""
    attention: tuple[AttentionKind, ...] = ("cross",)
    """the kinds of attention that are recorded"""
    longest: int | None = None
    """longer parts, in characters, are just translated"""
    effects: bool | None = None
    """each head is measured by the translation's log-probability without it; None: unless that takes long"""


@dataclass(frozen=True, eq=False)
class Explanation:
    """A text, its translation, and how the model made it."""

    source: str
    target: str
    parts: tuple[TextPart, ...]
    gaps: tuple[tuple[str, str], ...] = ()
    """the white space before each part, in the text and in the translation"""
    heads: HeadChoice | None = None
    """the heads that the links come from"""
    attention: tuple[AttentionKind, ...] = ()
    """the kinds of attention that the model has"""
    model: str = ""
    """the name of the model, for readers"""

    @property
    def score(self) -> float:
        """The sum of the log-probabilities of all target tokens and ends."""
        return sum(part.score for part in self.parts)

    @property
    def links(self) -> Links:
        """The word links of the whole texts, numbered from 0, with confidences."""
        moved, source, target = [], 0, 0
        for part in self.parts:
            moved += [Link(source + one.source, target + one.target, one.confidence) for one in part.links]
            source, target = source + part.sizes[0], target + part.sizes[1]
        return tuple(moved)

    def to_dict(self, *, small: bool = False) -> dict[str, Any]:
        """The explanation as plain JSON; words are numbered over all parts, weights have three decimals.

        `small` packs the weights of a long text, for a page.
        """
        parts, source, target = [], 0, 0
        for part, gaps in zip(self.parts, self.gaps, strict=True):
            parts.append(part.to_dict(source, target, gaps, small=small))
            source, target = source + part.sizes[0], target + part.sizes[1]
        return {
            "source": {"text": self.source, "words": self._words(0), "spaced": self._spaced(0)},
            "target": {"text": self.target, "words": self._words(1), "spaced": self._spaced(1)},
            "score": round(self.score, 4),
            "links": [
                {"source": one.source, "target": one.target, "confidence": round(one.confidence, 3)}
                for one in self.links
            ],
            "heads": None if self.heads is None else self.heads.to_dict(),
            "attention": list(self.attention),
            "model": self.model,
            "parts": parts,
        }

    def _words(self, side: int) -> list[str]:
        """The words of one side, part by part: parts that join without a space do not share a word."""
        return [word for part in self.parts for word in part.shown(side)]

    def _spaced(self, side: int) -> list[bool]:
        return [spaced for part in self.parts for spaced in part.spaced(side)]

    def to_html(self, title: str = "Regard") -> str:
        """A self-contained HTML page that works offline."""
        return standalone(self.to_dict(small=True), title)

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in a frame."""
        page = self.to_html().replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts allow-downloads" width="100%" height="760"></iframe>'


def explain(
    translator: Translator,
    text: str,
    *,
    prefix: str = "",
    target: str | None = None,
    strategy: Strategy | str | None = None,
    detail: Detail | None = None,
) -> Explanation:
    """Explain how a text is translated, or how the model scores a given translation, the `target`.

    >>> regard.explain(regard.load("runs/en-de"), "Two dogs play in the snow .").to_html()

    `prefix` is what the translation starts with. A text longer than the model's limit is translated in parts;
    a line break in the prefix ends the translation of a part.
    """
    if target is not None and prefix:
        raise UsageError("explain: give a prefix or a whole target, not both")
    detail = detail or Detail()
    layout = translator.lay_out_parts(text) if target is None else Layout((text,), ("", ""))
    if not words(text):
        layout = Layout((), (text,))
    starts = _starts(len(layout.pieces), prefix) if target is None else [(target, True)] * len(layout.pieces)
    looked = _looked_into(layout, detail)
    search_with = strategy_for(strategy, translator.strategy)
    others = iter(_translated(translator, layout, starts, looked, search_with))
    parts: list[TextPart] = []
    before = ""
    for number, (piece, (start, whole)) in enumerate(zip(layout.pieces, starts, strict=True)):
        if number in looked:
            given = translator.opened(piece).target.encode(start)
            found = find_translation(translator, piece, given, None if whole else search_with)
            parts.append(
                look_into(translator, piece, found, len(given) + whole, before, detail.attention, detail.effects)
            )
        else:
            parts.append(next(others))
        before += f"{parts[-1].texts[1]}\n"
    spelled = layout.filled([part.texts[1] for part in parts]) if parts else Layout((), ("",))
    gaps = tuple(zip(layout.gaps, spelled.gaps, strict=True))[: len(parts)]
    kinds = attention_kinds(translator.models[0])
    return Explanation(text, spelled.text, tuple(parts), gaps, linking_heads(translator), kinds)


def untranslated(text: str) -> Explanation:
    """A text that is left as it is, such as one that is already in the target language."""
    parts = (TextPart((text, text), 0.0),) if words(text) else ()
    return Explanation(text, text, parts, (("", ""),) * len(parts))


def _starts(count: int, prefix: str) -> list[tuple[str, bool]]:
    """What the translation of each part starts with, and whether that is all of it."""
    *ended, last = prefix.split("\n")
    while ended and len(ended) >= count and words(last):  # more lines than parts: join them
        last = f"{ended.pop()} {last}"
    starts = [(start, True) for start in ended[:count]] + [(last, False)] + [("", False)] * count
    return starts[:count]


def _looked_into(layout: Layout, detail: Detail) -> set[int]:
    """The numbers of the parts that are explained."""
    longest = detail.longest or max(map(len, layout.pieces), default=0)
    fitting = {number for number, piece in enumerate(layout.pieces) if len(piece) <= longest and words(piece)}
    if detail.at is None:
        return fitting
    return fitting & {max((number for number, start in enumerate(layout.starts) if start <= detail.at), default=0)}


def _translated(
    translator: Translator, layout: Layout, starts: list[tuple[str, bool]], looked: set[int], strategy: Strategy
) -> list[TextPart]:
    """The parts that are not looked into, translated together."""
    rest = [(piece, *starts[at]) for at, piece in enumerate(layout.pieces) if at not in looked]
    open_ended = [(piece, start) for piece, start, whole in rest if not whole]
    pieces, prefixes = [piece for piece, _ in open_ended], [start for _, start in open_ended]
    found = translator.translate(pieces, prefixes=prefixes, strategy=strategy, split="line")
    said = ((one.text, one.score) for one in found)
    given = [(piece, start) for piece, start, whole in rest if whole]
    scores = iter(translator.score([piece for piece, _ in given], [start for _, start in given]))
    told = [(piece, *((start, sum(next(scores))) if whole else next(said))) for piece, start, whole in rest]
    return [TextPart((piece, target), score) for piece, target, score in told]
