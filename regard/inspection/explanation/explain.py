"""The explanation of one translation: word links, attention weights, alternatives, and the path of the search.

explanation = explain(load("runs/en-de"), "a man in a hat .")
explanation.to_dict()    # plain JSON
explanation.to_html()    # a page of its own
"""

from dataclasses import dataclass
from typing import Any

import torch

from regard.alignment.aligner import Aligner
from regard.alignment.head_choice import HeadChoice, chosen_heads
from regard.attention.record import attention_layers
from regard.base.errors import UsageError
from regard.data.links import Link, Links
from regard.data.subwords.tokenizer import EOS, Subwords, words
from regard.decoding.layout import Layout
from regard.decoding.search import search
from regard.decoding.strategy import Strategy, strategy_for
from regard.decoding.trace import Trace
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator
from regard.inspection.explanation.beam_path import Path, beam_path
from regard.inspection.explanation.forced import Forced, entropy, force, likeliest
from regard.inspection.explanation.text_part import Layer, ShownAlternative, TextPart, Written
from regard.inspection.explanation.tokens import SPACE, shown, tokens_of
from regard.inspection.page.standalone import standalone

OTHERS = 6
"""the number of alternatives shown for a target token"""


@dataclass(frozen=True, eq=False)
class Explanation:
    """A text, its translation, and how the model made it."""

    source: str
    target: str
    parts: tuple[TextPart, ...]
    heads: HeadChoice | None = None
    """the heads that the links come from"""

    @property
    def score(self) -> float:
        """The sum of the log-probabilities of all target tokens and ends."""
        return sum(written.log_probability for part in self.parts for written in part.target)

    @property
    def links(self) -> Links:
        """The word links of the whole texts, numbered from 0, with confidences."""
        moved, source, target = [], 0, 0
        for part in self.parts:
            moved += [Link(source + one.source, target + one.target, one.confidence) for one in part.links]
            source, target = source + part.sizes[0], target + part.sizes[1]
        return tuple(moved)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain JSON; words are numbered over all parts, weights have three decimals."""
        parts, source, target = [], 0, 0
        for part in self.parts:
            parts.append(part.to_dict(source, target))
            source, target = source + part.sizes[0], target + part.sizes[1]
        return {
            "source": {"text": self.source, "words": self._words(0)},
            "target": {"text": self.target, "words": self._words(1)},
            "score": round(self.score, 4),
            "links": [
                {"source": one.source, "target": one.target, "confidence": round(one.confidence, 3)}
                for one in self.links
            ],
            "heads": None if self.heads is None else self.heads.to_dict(),
            "parts": parts,
        }

    def _words(self, side: int) -> list[str]:
        """The words of one side, part by part: parts that join without a space do not share a word."""
        return [word for part in self.parts for word in words(part.texts[side])]

    def to_html(self, title: str = "Regard") -> str:
        """A self-contained HTML page that works offline."""
        return standalone(self.to_dict(), title)

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
) -> Explanation:
    """Explain how a text is translated, or how the model scores a given translation, the `target`.

    >>> regard.explain(regard.load("runs/en-de"), "Two dogs play in the snow .").to_html()

    `prefix` is what the translation starts with. Sentences are parts, as when translating, and so are the parts of
    those that are longer than the model's limit; a line break in the prefix ends the translation of a part.
    """
    if target is not None and prefix:
        raise UsageError("explain: give a prefix or a whole target, not both")
    parts: list[TextPart] = []
    before = ""
    layout = translator.lay_out_parts(text) if target is None else Layout((text,), ("", ""))
    for piece, start, whole in _starts(layout, prefix, target):
        given = translator.target.encode(start)
        search_with = None if whole else strategy_for(strategy, translator.strategy)
        found, path = _find(translator, piece, given, search_with)
        parts.append(_look(translator, piece, found, path, len(given) + whole, before))
        before += f"{parts[-1].texts[1]}\n"
    spelled = layout.filled([part.texts[1] for part in parts]).text if parts else ""
    return Explanation(text, spelled, tuple(parts), _linking_heads(translator))


def _starts(layout: Layout, prefix: str, target: str | None) -> list[tuple[str, str, bool]]:
    """Each part of the text, what its translation starts with, and whether that is all of it."""
    cut = [piece for piece in layout.pieces if words(piece)]
    if target is not None or not cut:
        return [(piece, target or "", True) for piece in cut]
    *ended, last = prefix.split("\n")
    while len(ended) >= len(cut) and words(last):  # more lines than parts: join them
        last = f"{ended.pop()} {last}"
    starts = [(start, True) for start in ended[: len(cut)]] + [(last, False)] + [("", False)] * len(cut)
    return [(piece, start, whole) for piece, (start, whole) in zip(cut, starts, strict=False)]


def _find(
    translator: Translator, text: str, given: list[int], strategy: Strategy | None
) -> tuple[tuple[int, ...], Path]:
    """The ids of the best translation and the search path; the given ids, where there is nothing to search."""
    if strategy is None:
        return tuple(given), ()
    device = next(translator.models[0].parameters()).device
    source = torch.tensor([[*translator.source.encode(text), EOS]], device=device)
    lengths = torch.tensor([source.shape[1]], device=device)
    trace = Trace()
    [[best, *_]] = search(translator.models, source, lengths, strategy, [given], trace=trace)
    return best.tokens, beam_path(trace[0], best.tokens)


def _look(translator: Translator, text: str, found: tuple[int, ...], path: Path, forced: int, before: str) -> TextPart:
    """The explanation of a text and the ids of its translation, of which the first `forced` were given."""
    read = tuple(translator.source.encode(text))
    spelled = translator.target.decode(found)
    seen = force(translator.models, [*read, EOS], [*found, EOS])
    written = []
    for at, token in enumerate(tokens_of(translator.target, spelled, found)):
        chance = float(seen.log_probabilities[at, (*found, EOS)[at]])
        others = _alternatives(translator.target, found, at, seen, before)
        written.append(Written(token, chance, at < forced, others))
    return TextPart(
        source=tokens_of(translator.source, text, read),
        target=tuple(written),
        layers=tuple(Layer(name, own, tuple(entropy(own).tolist())) for name, own in seen.layers.items()),
        links=_links(translator, Pair(text, read, spelled, found), seen),
        path=path,
        texts=(text, spelled),
        spelling=translator.target,
    )


def _alternatives(
    subwords: Subwords, found: tuple[int, ...], at: int, seen: Forced, before: str
) -> tuple[ShownAlternative, ...]:
    """The likeliest other tokens, without a lone space: a prefix that ends in one is no different."""
    others: list[ShownAlternative] = []
    own = (*found, EOS)[at]
    for number, chance in likeliest(seen.log_probabilities[at], OTHERS + 1, without=own):
        start = before + subwords.decode([*found[:at], number])
        token = shown(subwords, number)
        if token.text != SPACE:
            others.append(ShownAlternative(token, chance, f"{start}\n" if number == EOS else start))
    return tuple(others[:OTHERS])


def _links(translator: Translator, pair: Pair, seen: Forced) -> Links:
    """The word links; None if the alignment heads do not attend to single tokens."""
    heads = _linking_heads(translator)
    if heads is None or any(layer not in seen.layers for layer in heads.layers):
        return ()
    [links] = (translator.aligner or Aligner(translator))([pair])
    return links


def _linking_heads(translator: Translator) -> HeadChoice | None:
    """The alignment heads; None for a model without attention over its source."""
    if isinstance(translator.aligner, Aligner):
        return translator.aligner.heads
    has_some = any(name.rpartition(".")[2] == "cross" for name in attention_layers(translator.models[0]))
    return chosen_heads(translator) if has_some else None
