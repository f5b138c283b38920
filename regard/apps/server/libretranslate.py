"""The calls of LibreTranslate: translate, detect, languages, settings.

Their forms are LibreTranslate's, so that its clients work unchanged.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from regard.apps.server import detection
from regard.apps.server.answers import answer
from regard.apps.server.engines import Engine
from regard.apps.server.messages import Detect, Translate
from regard.apps.server.names import language_name
from regard.apps.server.refusals import Refusal
from regard.apps.server.service import Service
from regard.apps.server.translating import Translated, marked_up, plain
from regard.apps.server.work import Translating
from regard.base.errors import unknown

FORMATS = ("text", "html")
MOST_ALTERNATIVES = 32
_PATIENCE = 500
"""milliseconds that LibreTranslate's page waits after a key is pressed"""


@dataclass(frozen=True)
class LibreTranslate:
    """The calls, each from a request to its answer."""

    service: Service

    async def translate(self, request: Request) -> Response:
        """Translate a text or several."""
        call = await self.service.receive(request, Translate)
        texts = call.q if isinstance(call.q, list) else [call.q]
        self.service.check_size(texts)
        if (form := call.format or "text") not in FORMATS:
            raise Refusal(400, unknown("format", form, FORMATS, "formats"))
        more = min(max(0, call.alternatives or 0), MOST_ALTERNATIVES)
        detected: list[Any] = []
        if call.source == "auto":
            engines, detected = await self.detected(request, texts, call.target)
        else:
            engines = [self.service.engine(call.source, call.target)] * len(texts)
        found = await self._translated(request, texts, engines, form, more)
        result: dict[str, Any] = {"translatedText": [one.text for one in found]}
        if more:
            result["alternatives"] = [list(one.alternatives) for one in found]
        if call.source == "auto":
            result["detectedLanguage"] = detected
        return answer(result if isinstance(call.q, list) else {name: own[0] for name, own in result.items()})

    async def detect(self, request: Request) -> Response:
        """Say which language a text is in, among those that the models read."""
        call = await self.service.receive(request, Detect)
        self.service.check_size([call.q])
        if not call.q.strip():
            raise Refusal(400, "Invalid request: missing q parameter")
        [found] = await self._confidences(request, [call.q], self.service.engines.readers())
        return answer(detection.as_languages(found))

    async def languages(self, request: Request) -> Response:
        """List the languages, with what each can be translated into."""
        return answer(self.service.engines.languages())

    async def settings(self, request: Request) -> Response:
        """Say what a page needs to know of the server."""
        first = self.service.engines.all[0]
        sides = (("source", first.source), ("target", first.target))
        return answer(
            {
                "charLimit": self.service.limits.characters,
                "frontendTimeout": _PATIENCE,
                "apiKeys": bool(self.service.keys),
                "keyRequired": bool(self.service.keys),
                "suggestions": False,
                "filesTranslation": False,
                "supportedFilesFormat": [],
                "language": {side: {"code": code, "name": language_name(code)} for side, code in sides},
            }
        )

    async def no_files(self, request: Request) -> Response:
        """Refuse files, which are not translated here."""
        raise Refusal(400, "Files are not translated on this server; send their text to /translate", close=True)

    async def detected(
        self, request: Request, texts: Sequence[str], target: str
    ) -> tuple[list[Engine], list[dict[str, object]]]:
        """For each text the engine whose language it seems to be in, and how sure that is."""
        writers = {engine.source: engine for engine in self.service.engines.writing(target)}
        if not writers:
            raise Refusal(400, unknown("target", target, self.service.engines.targets, "languages"))
        engines, detected = [], []
        for found in await self._confidences(request, texts, list(writers.values())):
            best = max(found, key=lambda language: found[language])
            engines.append(writers[best])
            detected += detection.as_languages({best: found[best]})
        return engines, detected

    async def _confidences(
        self, request: Request, texts: Sequence[str], engines: Sequence[Engine]
    ) -> list[dict[str, float]]:
        """For each text how likely it is in the language of each engine."""
        beginnings = [detection.sample(text) for text in texts]
        asked = [self.service.ask(request, Translating(engine), beginnings) for engine in engines]
        fits: list[dict[str, float]] = [{} for _ in texts]
        for engine, translations in zip(engines, await asyncio.gather(*asked), strict=True):
            for own, text, one in zip(fits, beginnings, translations, strict=True):
                own[engine.source] = detection.fit(engine.translator, text, one)
        return [detection.confidences(own) for own in fits]

    async def _translated(
        self, request: Request, texts: Sequence[str], engines: Sequence[Engine], form: str, more: int
    ) -> list[Translated]:
        """The texts of each engine together, then all in order again."""
        of_engine: dict[Engine, list[int]] = {}
        for at, engine in enumerate(engines):
            of_engine.setdefault(engine, []).append(at)
        found: dict[int, Translated] = {}
        for engine, places in of_engine.items():
            own = [texts[at] for at in places]
            if form == "html":
                done = await marked_up(self.service, request, engine, own)
            else:
                done = await plain(self.service, request, engine, own, more)
            found.update(zip(places, done, strict=True))
        return [found[at] for at in range(len(texts))]
