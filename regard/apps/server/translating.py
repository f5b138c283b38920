"""Translation of texts: plain text line by line, HTML with its tags, placeholders kept in both.

Each line is translated by itself, long ones in parts; empty lines stay where they are.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.apps.server.engines import Engine, Translating
from regard.apps.server.service import Ask, Service
from regard.decoding import segment
from regard.decoding.translator import Translation, Translator
from regard.markup.document import translate_pages, translate_texts
from regard.markup.placeholders import Kept

_ENDS = re.compile(r"(\r?\n)")
_TOKENS_A_CHARACTER = 5  # at most: four bytes and the mark of a word
_LONG = 2_000  # characters; splitting longer texts would block the other clients, so it runs in a thread
_KEPT = Kept()


@dataclass(frozen=True)
class Layout:
    """A text split into parts that are translated separately, and their layout."""

    lines: tuple[tuple[str, ...], ...]
    """the parts of each line"""
    ends: tuple[str, ...]
    """what ends each line but the last"""

    @property
    def parts(self) -> list[str]:
        """All parts, in order."""
        return [part for line in self.lines for part in line]

    def put_together(self, translations: Sequence[Translation], rank: int = 0) -> str:
        """The text of the parts' translations: those of the given rank, or the best where there are fewer."""
        found = iter([one.n_best[rank].text if rank < len(one.n_best) else one.text for one in translations])
        lines = [segment.join([next(found) for _ in line]) for line in self.lines]
        return "".join(line + end for line, end in zip(lines, (*self.ends, ""), strict=True))

    def alternatives(self, translations: Sequence[Translation], count: int) -> list[str]:
        """At most so many alternatives, each different from the best and from one another."""
        texts = [self.put_together(translations, rank) for rank in range(1 + count)]
        return list(dict.fromkeys(texts))[1:]


def lay_out(text: str, translator: Translator) -> Layout:
    r"""The parts of a text, the same that `regard translate` makes of its lines; `\n` and `\r\n` end a line."""
    pieces = _ENDS.split(text)
    return Layout(tuple(tuple(_parts(line, translator)) for line in pieces[::2]), tuple(pieces[1::2]))


def _parts(line: str, translator: Translator) -> list[str]:
    if not line.strip():
        return []
    longest = translator.max_source
    if longest is None or _TOKENS_A_CHARACTER * len(line) < longest or len(translator.source.encode(line)) < longest:
        return [line]
    return segment.split_text(line, longest - 1, lambda piece: len(translator.source.encode(piece)))


@dataclass(frozen=True)
class Translated:
    """A text's translation, and its alternatives."""

    text: str
    alternatives: Sequence[str] = ()


async def plain(service: Service, engine: Engine, texts: Sequence[str], alternatives: int = 0) -> list[Translated]:
    """The translations of plain texts, each with at most so many alternatives."""

    def cut() -> list[Layout]:
        return [lay_out(text, engine.translator) for text in texts]

    laid = await asyncio.to_thread(cut) if sum(map(len, texts)) > _LONG else cut()
    parts = [part for layout in laid for part in layout.parts]
    work = Translating(engine, 1 + alternatives)
    if any(map(_KEPT.find, parts)):
        found = await service.in_thread(lambda ask: translate_texts(lambda some: ask(work, some), parts, _KEPT))
    else:
        found = await service.ask(work, parts)
    _count(service, engine, parts, found)
    each = iter(found)
    own = [(layout, [next(each) for _ in layout.parts]) for layout in laid]
    return [Translated(layout.put_together(its), layout.alternatives(its, alternatives)) for layout, its in own]


async def marked_up(service: Service, engine: Engine, pages: Sequence[str]) -> list[Translated]:
    """The translations of HTML; tags enclose the translations of the words that they enclosed."""
    work = Translating(engine, alignments=engine.translator.aligner is not None)

    def translate(ask: Ask) -> list[str]:
        def counting(texts: list[str]) -> Sequence[Translation]:
            found = ask(work, texts)
            _count(service, engine, texts, found)
            return found

        return translate_pages(counting, pages, _KEPT)

    return [Translated(page) for page in await service.in_thread(translate)]


def _count(service: Service, engine: Engine, texts: Sequence[str], found: Sequence[Translation]) -> None:
    """Count characters read and subwords written."""
    service.metrics.characters.labels(engine.source, engine.target).inc(sum(map(len, texts)))
    tokens = sum(len(one.n_best[0].tokens) for one in found if one.n_best)
    service.metrics.tokens.labels(engine.source, engine.target).inc(tokens)
