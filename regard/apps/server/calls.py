"""The API calls: LibreTranslate's, so that its clients work unchanged, and two for alignments and explanations."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

from starlette.requests import Request

from regard.apps.server import detection
from regard.apps.server.engines import Aligning, Engine, Explaining, Question, language_name
from regard.apps.server.messages import (
    AlignCall,
    DetectCall,
    DetectedLanguage,
    ExplainCall,
    Explained,
    FileCall,
    LinkedWords,
    Refusal,
    ServedLanguage,
    SuggestCall,
    Suggested,
    TranslateCall,
    TranslatedFile,
    Translations,
    WordLink,
)
from regard.apps.server.service import Service
from regard.apps.server.translating import Translated, marked_up, plain, rewritten
from regard.apps.server.uploads import read_upload
from regard.base.errors import unknown
from regard.data.subwords.tokenizer import words
from regard.data.word_spans import words_of
from regard.inspection.explanation.explain import Detail, untranslated
from regard.inspection.explanation.forced import ATTENTION_KINDS, AttentionKind
from regard.markup.document_files import READERS

FORMATS = ("text", "html")
_ATTENTION: dict[str, tuple[AttentionKind, ...]] = {"cross": ("cross",), "all": ATTENTION_KINDS}
MOST_ALTERNATIVES = 32
_PATIENCE = 500
"""milliseconds that LibreTranslate's page waits after a key press"""


class Calls:
    """The API calls of a service, each from a request to a response."""

    def __init__(self, service: Service) -> None:
        self._service, self._engines = service, service.engines
        self._files = 0

    async def translate(self, call: TranslateCall) -> Translations:
        """Translate a text or several."""
        texts = _list(call.q)
        self._service.check_size(texts)
        if (form := call.format or "text") not in FORMATS:
            raise Refusal(400, unknown("format", form, FORMATS, "formats"))
        more = min(max(0, call.alternatives or 0), MOST_ALTERNATIVES)
        detected: list[DetectedLanguage] = []
        engines: list[Engine | None]
        if call.source == "auto":
            engines, detected = await self._detected(texts, call.target, form)
        elif call.source == call.target and call.source in {*self._engines.sources, *self._engines.targets}:
            engines = [None] * len(texts)
        else:
            engines = [self._service.engine(call.source, call.target)] * len(texts)
        if call.glossary:
            self._check_glossary(call.glossary)
            bound = {engine: engine.with_terms(call.glossary) for engine in engines if engine}
            engines = [engine and bound[engine] for engine in engines]
        found = await self._translated(texts, engines, form, more)
        result: dict[str, list[Any]] = {"translatedText": [one.text for one in found]}
        if more:
            result["alternatives"] = [list(one.alternatives) for one in found]
        if call.source == "auto":
            result["detectedLanguage"] = detected
        return cast(
            Translations, result if isinstance(call.q, list) else {name: own[0] for name, own in result.items()}
        )

    async def detect(self, call: DetectCall) -> list[DetectedLanguage]:
        """Detect the language of a text, among those that the models read; or write, if it is in one of these."""
        self._service.check_size([call.q])
        if not call.q.strip():
            raise Refusal(400, "Invalid request: missing q parameter")
        served = list(dict.fromkeys([*self._engines.sources, *self._engines.targets]))
        found = await asyncio.to_thread(detection.confidences, detection.sample(call.q), served)
        own = {code: found[code] for code in found if code in self._engines.sources or detection.is_in(code, found)}
        return detection.as_languages(own)

    async def languages(self) -> list[ServedLanguage]:
        """List the languages, with what each can be translated into."""
        return self._engines.languages()

    async def settings(self) -> dict[str, Any]:
        """Give the server's settings, as LibreTranslate's page needs them."""
        first, keys = self._engines.all[0], bool(self._service.keys)
        sides = (("source", first.source), ("target", first.target))
        return {
            "charLimit": self._service.limits.characters,
            "frontendTimeout": _PATIENCE,
            "apiKeys": keys,
            "keyRequired": keys,
            "suggestions": self._service.suggestions is not None,
            "filesTranslation": True,
            "supportedFilesFormat": list(READERS),
            "language": {side: {"code": code, "name": language_name(code)} for side, code in sides},
        }

    async def translate_file(self, call: FileCall, request: Request) -> TranslatedFile:
        """Translate a file, which can then be fetched from the given address for ten minutes."""
        limits = self._service.limits
        if self._files >= limits.files:
            raise Refusal(429, f"Too many files are being translated ({limits.files}); try again soon", retry_after=1)
        self._files += 1
        try:
            sent = await asyncio.to_thread(read_upload, call.file, call.filename)
            self._service.check_size([sent.document.text], limits.file_characters)
            engine = await self._engine([sent.document.text], call.source, call.target)
            found = await rewritten(self._service, engine, sent.document)
        finally:
            self._files -= 1
        kept = self._service.files.keep(sent.translated_name(engine.target), found)
        asyncio.get_running_loop().call_later(self._service.files.seconds, self._service.files.forget)
        return TranslatedFile(translatedFileUrl=f"{request.base_url}download_file/{quote(kept)}")

    async def suggest(self, call: SuggestCall) -> Suggested:
        """Suggest a better translation of a text, where the server collects suggestions."""
        if self._service.suggestions is None:
            raise Refusal(403, "Suggestions are disabled on this server; serve --suggestions FILE collects them")
        self._service.check_size([call.q, call.s], 2 * self._service.limits.characters)
        for name, text in (("q", call.q), ("s", call.s)):
            if not text.strip():
                raise Refusal(400, f"Invalid request: missing {name} parameter")
        if call.source != "auto":
            self._service.engine(call.source, call.target)
        elif not self._engines.writing(call.target):
            raise Refusal(400, unknown("target", call.target, self._engines.targets, "languages"))
        await asyncio.to_thread(self._service.suggestions.add, call)
        return Suggested(success=True)

    async def align(self, call: AlignCall) -> LinkedWords | list[LinkedWords]:
        """Align the words of texts and given translations."""
        sources, targets = _list(call.q), _list(call.translation)
        if isinstance(call.q, list) != isinstance(call.translation, list) or len(sources) != len(targets):
            raise Refusal(400, f"Invalid request: {len(sources)} texts in q, but {len(targets)} in translation")
        self._service.check_size([*sources, *targets], 2 * self._service.limits.characters)
        engine = await self._engine(sources, call.source, call.target)
        if engine.translator.aligner is None:
            raise Refusal(400, f"The model of {engine} does not attend to its source, so it cannot link words")
        longest = engine.translator.max_source
        if longest and any(len(engine.translator.source.encode(text)) >= longest for text in sources):
            raise Refusal(413, f"A text to align has more than the {longest} subwords that the model reads")
        pairs = list(zip(sources, targets, strict=True))
        told = [pair for pair in pairs if all(map(words, pair))]
        links = iter(await self._service.ask(Aligning(engine), told))
        found = [_linked(*pair, next(links) if all(map(words, pair)) else ()) for pair in pairs]
        return found if isinstance(call.q, list) else found[0]

    async def explain(self, call: ExplainCall) -> Explained:
        """Translate a text and explain the translation."""
        limits = self._service.limits
        most = limits.explained if call.at is None else limits.characters
        self._service.check_size([call.q, call.prefix or ""], most)
        if (attention := call.attention or "cross") not in _ATTENTION:
            raise Refusal(400, unknown("attention", attention, _ATTENTION, "kinds"))
        detail = Detail(at=call.at, attention=_ATTENTION[attention], longest=limits.explained)
        engine: Engine | None
        detected: list[DetectedLanguage] = []
        if call.source == "auto":
            [engine], detected = await self._detected([call.q], call.target, "text")
        else:
            engine = self._service.engine(call.source, call.target)
        found: Any = untranslated(call.q).to_dict()
        if engine is not None:
            [found] = await self._service.ask(Explaining(engine), [Question(call.q, call.prefix or "", detail)])
        return found | ({"detected": detected[0]} if detected else {})

    def _check_glossary(self, terms: Mapping[str, str]) -> None:
        characters, allowed = sum(map(len, (*terms, *terms.values()))), self._service.limits.characters
        if characters > allowed:
            raise Refusal(413, f"The glossary has {characters} characters, but {allowed} are allowed")

    async def _engine(self, texts: list[str], source: str, target: str) -> Engine:
        if source != "auto":
            return self._service.engine(source, target)
        return (await self._reader(" ".join(texts), target))[0]

    async def _reader(self, text: str, target: str, form: str = "text") -> tuple[Engine, DetectedLanguage]:
        """The engine of the likeliest language among those that are translated into the target."""
        writers = self._writers(target)
        found = await asyncio.to_thread(detection.confidences, detection.sample(text, form), list(writers))
        best = detection.as_languages(found)[0]
        return writers[best["language"]], best

    def _writers(self, target: str) -> dict[str, Engine]:
        """The engines that write a language, by the language that they read."""
        writers = {engine.source: engine for engine in self._engines.writing(target)}
        if not writers:
            raise Refusal(400, unknown("target", target, self._engines.targets, "languages"))
        return writers

    async def _detected(
        self, texts: Sequence[str], target: str, form: str
    ) -> tuple[list[Engine | None], list[DetectedLanguage]]:
        """For each text the engine of its detected language, None if it is the target's, with the confidence."""
        engines: list[Engine | None] = []
        detected: list[DetectedLanguage] = []
        languages = [*self._writers(target), target]
        for text in texts:
            found = await asyncio.to_thread(detection.confidences, detection.sample(text, form), languages)
            if detection.is_in(target, found):
                engines.append(None)
                detected.append(detection.as_languages(found)[0])
            else:
                engine, best = await self._reader(text, target, form)
                engines.append(engine)
                detected.append(best)
        return engines, detected

    async def _translated(
        self, texts: Sequence[str], engines: Sequence[Engine | None], form: str, more: int
    ) -> list[Translated]:
        """Translate the texts of each engine together, and return all in their order; without one, a text is kept."""
        found = {at: Translated(texts[at]) for at, engine in enumerate(engines) if engine is None}
        for engine in filter(None, dict.fromkeys(engines)):
            places = [at for at, own in enumerate(engines) if own is engine]
            some = [texts[at] for at in places]
            html = form == "html"
            done = await (marked_up(self._service, engine, some) if html else plain(self._service, engine, some, more))
            found.update(zip(places, done, strict=True))
        return [found[at] for at in range(len(texts))]


def _list(given: str | list[str]) -> list[str]:
    return given if isinstance(given, list) else [given]


def _linked(source: str, target: str, links: Any) -> LinkedWords:
    told = [WordLink(source=one.source, target=one.target, confidence=round(one.confidence, 4)) for one in links]
    return LinkedWords(source=words_of(source), target=words_of(target), links=told)
