"""From texts to their translations: plain ones line by line, HTML with its tags, placeholders kept in both."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starlette.requests import Request

from regard.apps.server.engines import Engine
from regard.apps.server.service import Ask, Service
from regard.apps.server.texts import Layout, lay_out
from regard.apps.server.work import Translating
from regard.decoding.translator import Translation
from regard.markup.document import translate_pages, translate_texts
from regard.markup.placeholders import Kept

_LONG = 2_000  # characters: from here on, cutting texts up would keep the other clients waiting
_KEPT = Kept()


@dataclass(frozen=True)
class Translated:
    """A text's translation, and further ones."""

    text: str
    alternatives: Sequence[str] = ()


async def plain(
    service: Service, request: Request, engine: Engine, texts: Sequence[str], alternatives: int = 0
) -> list[Translated]:
    """The translations of plain texts, each with at most so many alternatives."""
    laid = await _laid_out(texts, engine)
    parts = [part for layout in laid for part in layout.parts]
    work = Translating(engine, 1 + alternatives)
    if any(map(_KEPT.find, parts)):
        found = await service.in_thread(request, lambda ask: translate_texts(_asking(ask, work), parts, _KEPT))
    else:
        found = await service.ask(request, work, parts)
    count(service, engine, parts, found)
    each = iter(found)
    translated = []
    for layout in laid:
        own = [next(each) for _ in layout.parts]
        translated.append(Translated(layout.put_together(own), layout.alternatives(own, alternatives)))
    return translated


async def marked_up(service: Service, request: Request, engine: Engine, pages: Sequence[str]) -> list[Translated]:
    """The translations of HTML; its tags stay around the words that they were around."""
    work = Translating(engine, alignments=engine.translator.aligner is not None)
    counted: list[tuple[list[str], Sequence[Translation]]] = []

    def translate(ask: Ask) -> list[str]:
        def counting(texts: list[str]) -> Sequence[Translation]:
            counted.append((texts, ask(work, texts)))
            return counted[-1][1]

        return translate_pages(counting, pages, _KEPT)

    written = await service.in_thread(request, translate)
    for texts, found in counted:
        count(service, engine, texts, found)
    return [Translated(page) for page in written]


def count(service: Service, engine: Engine, texts: Sequence[str], found: Sequence[Translation]) -> None:
    """Count characters read and subwords written."""
    service.metrics.characters.labels(engine.source, engine.target).inc(sum(map(len, texts)))
    tokens = sum(len(one.n_best[0].tokens) for one in found if one.n_best)
    service.metrics.tokens.labels(engine.source, engine.target).inc(tokens)


async def _laid_out(texts: Sequence[str], engine: Engine) -> list[Layout]:
    def work() -> list[Layout]:
        return [lay_out(text, engine.translator) for text in texts]

    return await asyncio.to_thread(work) if sum(map(len, texts)) > _LONG else work()


def _asking(ask: Ask, work: Translating) -> Callable[[list[str]], Sequence[Translation]]:
    return lambda texts: ask(work, texts)
