"""Translation of texts: plain text, HTML and documents, with white space, placeholders and tags kept.

Each sentence, or line, is a separate item for the batcher, so that long texts do not hold up short ones.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from regard.apps.server.engines import Engine, Translating
from regard.apps.server.service import Ask, Service
from regard.decoding.layout import Layout
from regard.decoding.translation import TranslateTexts, Translation, joined
from regard.decoding.translator import Translator
from regard.markup.document import translate_pages
from regard.markup.documents.opened import OpenDocument

_LONG = 2_000  # characters; splitting longer texts would block the other clients, so it runs in a thread


@dataclass(frozen=True)
class Translated:
    """A text's translation, and its alternatives."""

    text: str
    alternatives: Sequence[str] = ()


def parts_of(text: str, translator: Translator) -> Layout:
    """The parts of a text that are translated one by one; none of them goes through a placeholder."""
    whole = [] if translator.keeper is None else translator.keeper.finds(text)
    return translator.lay_out(text, whole=whole)


def reassembled(layout: Layout, parts: Sequence[Translation], alternatives: int) -> Translated:
    """The translation of a text from those of its parts, with at most so many alternatives that differ from it."""
    found = joined(layout, parts)
    others = dict.fromkeys(other.text for other in found.n_best if other.text != found.text)
    return Translated(found.text, list(others)[:alternatives])


async def plain(service: Service, engine: Engine, texts: Sequence[str], alternatives: int = 0) -> list[Translated]:
    """The translations of plain texts, each with at most so many alternatives."""

    def cut() -> list[Layout]:
        return [parts_of(text, engine.translator) for text in texts]

    laid = await asyncio.to_thread(cut) if sum(map(len, texts)) > _LONG else cut()
    pieces = [piece for layout in laid for piece in layout.pieces]
    found = await service.ask(Translating(engine, 1 + alternatives), pieces)
    _count(service, engine, pieces, found)
    each = iter(found)
    return [reassembled(layout, [next(each) for _ in layout.pieces], alternatives) for layout in laid]


async def marked_up(service: Service, engine: Engine, pages: Sequence[str]) -> list[Translated]:
    """The translations of HTML; tags enclose the translations of the words that they enclosed."""

    def translate(ask: Ask) -> list[str]:
        return translate_pages(_linking(service, engine, ask), pages)

    return [Translated(page) for page in await service.in_thread(translate)]


async def rewritten(service: Service, engine: Engine, document: OpenDocument) -> bytes:
    """A document with its passages translated, and its markup kept."""

    def translate(ask: Ask) -> bytes:
        return document.translated(_asking(service, engine, ask), _linking(service, engine, ask))

    return await service.in_thread(translate)


def _linking(service: Service, engine: Engine, ask: Ask) -> TranslateTexts:
    """A function that translates texts by the models, with alignments if there are any."""
    return _asking(service, engine, ask, alignments=engine.translator.aligner is not None)


def _asking(service: Service, engine: Engine, ask: Ask, alignments: bool = False) -> TranslateTexts:
    work = Translating(engine, alignments=alignments)

    def counting(texts: list[str]) -> Sequence[Translation]:
        found = ask(work, texts)
        _count(service, engine, texts, found)
        return found

    return counting


def _count(service: Service, engine: Engine, texts: Sequence[str], found: Sequence[Translation]) -> None:
    """Count characters read and subwords written."""
    service.metrics.characters.labels(engine.source, engine.target).inc(sum(map(len, texts)))
    tokens = sum(len(one.n_best[0].tokens) for one in found if one.n_best)
    service.metrics.tokens.labels(engine.source, engine.target).inc(tokens)
