"""The calls that look inside: which words belong together, and how a translation came to be."""

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.apps.server.answers import answer
from regard.apps.server.engines import Engine
from regard.apps.server.libretranslate import LibreTranslate
from regard.apps.server.messages import Align, Explain
from regard.apps.server.refusals import Refusal
from regard.apps.server.service import Service
from regard.apps.server.work import Aligning, Explaining, Question
from regard.data.subwords.tokenizer import words


@dataclass(frozen=True)
class Looking:
    """The calls, each from a request to its answer."""

    service: Service

    async def align(self, request: Request) -> Response:
        """Link the words of texts and given translations."""
        call = await self.service.receive(request, Align)
        sources, targets = _list(call.q), _list(call.translation)
        if isinstance(call.q, list) != isinstance(call.translation, list) or len(sources) != len(targets):
            raise Refusal(400, f"Invalid request: {len(sources)} texts in q, but {len(targets)} in translation")
        self.service.check_size([*sources, *targets], 2 * self.service.limits.characters)
        engine = await self._engine(request, sources, call.source, call.target)
        if engine.translator.aligner is None:
            raise Refusal(400, f"The model of {engine} does not attend to its source, so it cannot link words")
        self._check_length(engine, sources)
        pairs = list(zip(sources, targets, strict=True))
        told = [pair for pair in pairs if all(map(words, pair))]
        links = iter(await self.service.ask(request, Aligning(engine), told))
        found = [_aligned(*pair, next(links) if all(map(words, pair)) else ()) for pair in pairs]
        return answer(found if isinstance(call.q, list) else found[0])

    async def explain(self, request: Request) -> Response:
        """Translate a text and tell everything that led to the translation."""
        call = await self.service.receive(request, Explain)
        self.service.check_size([call.q, call.prefix or ""], self.service.limits.explained)
        engine = await self._engine(request, [call.q], call.source, call.target)
        [found] = await self.service.ask(request, Explaining(engine), [Question(call.q, call.prefix or "")])
        return answer(found)

    async def _engine(self, request: Request, texts: list[str], source: str, target: str) -> Engine:
        if source != "auto":
            return self.service.engine(source, target)
        engines, _ = await LibreTranslate(self.service).detected(request, [" ".join(texts)], target)
        return engines[0]

    def _check_length(self, engine: Engine, sources: list[str]) -> None:
        longest = engine.translator.max_source
        for text in sources:
            if longest is not None and len(engine.translator.source.encode(text)) >= longest:
                raise Refusal(413, f"A text to align has more than the {longest} subwords that the model reads")


def _list(given: str | list[str]) -> list[str]:
    return given if isinstance(given, list) else [given]


def _aligned(source: str, target: str, links: Any) -> dict[str, Any]:
    return {
        "source": words(source),
        "target": words(target),
        "links": [
            {"source": link.source, "target": link.target, "confidence": round(link.confidence, 4)} for link in links
        ],
    }
