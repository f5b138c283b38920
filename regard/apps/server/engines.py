"""The served translators by language pair, and the works that they are asked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from babel import Locale

from regard.alignment.word_weights import make_pairs
from regard.apps.server.batcher import Work
from regard.apps.server.messages import ServedLanguage
from regard.apps.server.served import ServedModel, ServedModels, model_name, serve_as
from regard.base.errors import UsageError
from regard.decoding.glossary import Glossary, checked_glossary
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategy import Strategy
from regard.decoding.translation import Translation
from regard.decoding.translator import Translator
from regard.inspection.explanation.explain import Detail, explain
from regard.interop.export_folder import MANIFEST, read_manifest
from regard.loading import load
from regard.runs.artifact import load_artifact
from regard.runs.folder import model_file

_CODE = r"[A-Za-z]{2,8}(?:_[A-Za-z0-9]{2,8})?"
_DIRECTION = re.compile(rf"({_CODE})-({_CODE})")
_NAMED = re.compile(rf"({_CODE})-({_CODE})=(.+)", re.DOTALL)
_LONGEST_SOURCE = 1_024


@dataclass(frozen=True, eq=False)
class Engine:
    """One model: its source and target languages, and its translator."""

    source: str
    target: str
    translator: Translator
    path: str = ""
    glossary: Glossary | None = None
    """terms that must come out as given"""

    def with_terms(self, terms: Mapping[str, str] | None) -> "Engine":
        """The engine with further terms, which come before its own."""
        if not terms:
            return self
        own = () if self.glossary is None else self.glossary.terms
        return replace(self, glossary=Glossary.of(dict(own) | dict(terms)))

    def strategy(self, n_best: int) -> Strategy:
        """The model's own search with n-best outputs, at most as many as its beam size."""
        own = self.translator.strategy
        if n_best > 1 and isinstance(own, Beam):
            return replace(own, n_best=min(n_best, own.size))
        return own

    @property
    def name(self) -> str:
        """The name of the model: that of its file or run folder, or its languages."""
        return Path(self.path).stem or str(self)

    def __str__(self) -> str:
        return f"{self.source} → {self.target}"


class Engines:
    """All engines, one for each direction."""

    def __init__(self, engines: Iterable[Engine]) -> None:
        self.all = tuple(engines)
        self.sources = list(dict.fromkeys(engine.source for engine in self.all))
        self.targets = list(dict.fromkeys(engine.target for engine in self.all))
        self._by_direction: dict[tuple[str, str], Engine] = {}
        for engine in self.all:
            other = self._by_direction.setdefault((engine.source, engine.target), engine)
            if other is not engine:
                raise UsageError(
                    f"{engine.path}: translates {engine}, as {other.path} does; "
                    f"name the languages of one of them, as in xx-{engine.target}={engine.path}"
                )

    def find(self, source: str, target: str) -> Engine | None:
        """The engine of a direction."""
        return self._by_direction.get((source, target))

    def writing(self, target: str) -> list[Engine]:
        """The engines that write a language."""
        return [engine for engine in self.all if engine.target == target]

    def languages(self) -> list[ServedLanguage]:
        """Every language with its name and what it can be translated into, as LibreTranslate lists them."""
        into = {code: [one.target for one in self.all if one.source == code] for code in self.sources + self.targets}
        return [ServedLanguage(code=code, name=language_name(code), targets=targets) for code, targets in into.items()]


def language_name(code: str) -> str:
    """`de` is German, `pt_BR` Portuguese (BR), as CLDR names them; an unknown code stands for itself."""
    base, _, region = code.replace("-", "_").partition("_")
    name = Locale.parse("en").languages.get(base.lower())
    return code if name is None else f"{name} ({region})" if region else name


def load_models(models: Sequence[str], device: str = "cpu", **settings: Any) -> tuple[Engines, ServedModels]:
    """Translators given as PATH or SOURCE-TARGET=PATH, and other models, given as PATH or NAME=PATH.

    The settings are those of `regard.load`.
    """
    made = [_load(model, device, **settings) for model in models]
    engines = Engines(one for one in made if isinstance(one, Engine))
    return engines, ServedModels(one for one in made if isinstance(one, ServedModel))


def _load(model: str, device: str, **settings: Any) -> Engine | ServedModel:
    named = None if Path(model).exists() else _NAMED.fullmatch(model)
    label, sign, rest = ("", "", model) if Path(model).exists() else model.partition("=")
    path = rest if sign else model
    translator = load(path, device=device, **settings)
    if not isinstance(translator, Translator):
        return serve_as(label if sign else model_name(path), translator, path)
    if sign and not named:
        raise UsageError(f"{model}: a translator is named by its languages, as in en-de={path}")
    translator.max_source = translator.max_source or _LONGEST_SOURCE
    source, target = (named[1], named[2]) if named else languages_of(path)
    if source != "source":
        translator.language = source  # whose rules split sentences
    return Engine(source, target, translator, path)


def with_glossaries(engines: Engines, given: Sequence[str]) -> Engines:
    """The engines with the glossaries of files given as FILE, for the only engine, or SOURCE-TARGET=FILE."""
    read: dict[Engine, Glossary] = {}
    for name in given:
        named = _NAMED.fullmatch(name) if not Path(name).exists() else None
        engine = engines.find(named[1], named[2]) if named else engines.all[0] if len(engines.all) == 1 else None
        if engine is None:
            pairs = ", ".join(f"{one.source}-{one.target}" for one in engines.all)
            raise UsageError(
                f"--glossary {name}: say for which languages, as in SOURCE-TARGET=FILE; these are: {pairs}"
            )
        if not isinstance(engine.translator.strategy, Beam):
            raise UsageError(
                f"--glossary {name}: the model of {engine} is not decoded by beam search, which terms need"
            )
        read[engine] = checked_glossary(Glossary.read(named[3] if named else name), engine.translator.target)
    return Engines(replace(engine, glossary=read.get(engine)) for engine in engines.all)


def languages_of(path: str | Path) -> tuple[str, str]:
    """The languages of a model: by its settings, or its name (`en-de`), or just `source` and `target`."""
    exported = (Path(path) / MANIFEST).is_file()
    config = read_manifest(path, "ctranslate2").config if exported else load_artifact(model_file(path)).config
    data = config.get("data") or {}
    if data.get("source") and data.get("target"):
        return str(data["source"]), str(data["target"])
    for name in (str(config.get("name", "")), Path(path).stem):
        if found := _DIRECTION.fullmatch(name):
            return found[1], found[2]
    return "source", "target"


@dataclass(frozen=True)
class Translating(Work):
    """Translate texts."""

    engine: Engine
    n_best: int = 1
    alignments: bool = False

    def run(self, items: list[str]) -> list[Translation]:
        strategy = self.engine.strategy(self.n_best)
        glossary = self.engine.glossary
        return self.engine.translator.translate(items, strategy=strategy, alignments=self.alignments, glossary=glossary)

    def cost(self, item: str) -> int:
        return len(item)


@dataclass(frozen=True)
class Aligning(Work):
    """Align words of texts and given translations."""

    engine: Engine

    def run(self, items: list[tuple[str, str]]) -> Sequence[Any]:
        translator = self.engine.translator
        if translator.aligner is None:
            raise ValueError("the engine has no aligner")
        sources, targets = [source for source, _ in items], [target for _, target in items]
        return translator.aligner(make_pairs(translator, sources, targets))

    def cost(self, item: tuple[str, str]) -> int:
        return sum(map(len, item))


class Question(NamedTuple):
    """A text whose translation is to be explained, and the prefix of that translation."""

    text: str
    prefix: str = ""
    detail: Detail = Detail()


@dataclass(frozen=True)
class Explaining(Work):
    """Translate texts and explain the translations."""

    engine: Engine

    def run(self, items: list[Question]) -> list[dict[str, Any]]:
        translator = self.engine.translator
        found = [explain(translator, one.text, prefix=one.prefix, detail=one.detail) for one in items]
        return [replace(one, model=self.engine.name).to_dict() for one in found]

    def cost(self, item: Question) -> int:
        return 8 * len(item.text) * len(item.detail.attention)
