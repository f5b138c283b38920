"""Served models that do not translate: what each is asked, what it answers, and what it looked at.

A model is served by its kind, which `regard.load` tells: a classifier, a tagger, a filler of masks, a language model, a
sentence encoder, a classifier of pictures or nodes, a pointer network, a model of sets.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from regard.apps.server.batcher import Work
from regard.base.errors import UsageError, unknown
from regard.data.framed import Frame
from regard.decoding.predictor import TextReader
from regard.decoding.vectors import VectorArray

LONGEST_TEXT = 1_024
"""tokens that a model without a limit of its own reads of a text"""


@dataclass(frozen=True, eq=False)
class ServedModel(ABC):
    """One model, with the name by which it is asked."""

    name: str
    opened: Any
    path: str = ""

    task: ClassVar[str]
    """what it does, in a word"""
    reads: ClassVar[str] = "text"
    """what it is given: text, points, set, graph or picture"""

    @abstractmethod
    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        """The answer to each input, with `text` for readers and the rest for programs."""

    @abstractmethod
    def looked_at(self, asked: str) -> dict[str, Any]:
        """The answer to one input as a page shows it, and what the model looked at."""

    @property
    def about(self) -> dict[str, Any]:
        """What a page or program must know to ask it."""
        return {}

    @property
    def reader(self) -> TextReader | None:
        """What gives vectors of texts, if the model does."""
        return self.opened if isinstance(self.opened, TextReader) else None

    def vectors(self, texts: Sequence[str]) -> VectorArray:
        """The vector of each text."""
        if self.reader is None:
            raise UsageError(f"{self.name}: gives no vectors of texts; a sentence encoder or a classifier does")
        return self.reader.embed(list(texts))


class ServedModels:
    """All of them, by name."""

    def __init__(self, models: Iterable[ServedModel] = ()) -> None:
        self.all = tuple(models)
        self._named: dict[str, ServedModel] = {}
        for model in self.all:
            other = self._named.setdefault(model.name, model)
            if other is not model:
                raise UsageError(
                    f"{model.path}: is called {model.name}, as {other.path} is; name one of them, as in "
                    f"second={model.path}"
                )

    def __bool__(self) -> bool:
        return bool(self.all)

    def named(self, name: str | None) -> ServedModel:
        """The model of this name; without a name, the only one."""
        if not name and len(self.all) == 1:
            return self.all[0]
        if name and name in self._named:
            return self._named[name]
        told = "model: say which; these are: " + ", ".join(self._named) if not name else ""
        raise UsageError(told or unknown("model", str(name), self._named, "models"))

    def reading_texts(self) -> list[ServedModel]:
        """Those that give vectors of texts."""
        return [model for model in self.all if model.reader is not None]


@dataclass(frozen=True)
class Predicting(Work):
    """Answer inputs."""

    model: ServedModel

    def run(self, items: list[str]) -> Sequence[Mapping[str, Any]]:
        return self.model.answers(items)

    def cost(self, item: str) -> int:
        return len(item)


@dataclass(frozen=True)
class Looking(Work):
    """Answer inputs one by one, and tell what was looked at."""

    model: ServedModel

    def run(self, items: list[str]) -> Sequence[Mapping[str, Any]]:
        return [self.model.looked_at(item) for item in items]

    def cost(self, item: str) -> int:
        return 8 * len(item)


@dataclass(frozen=True)
class EmbeddingTexts(Work):
    """Give the vectors of texts."""

    model: ServedModel

    def run(self, items: list[str]) -> Sequence[Any]:
        return list(self.model.vectors(items))

    def cost(self, item: str) -> int:
        return len(item)


def serve_as(name: str, opened: Any, path: str) -> ServedModel:
    """The model as it is served; one that answers nothing over HTTP is refused."""
    from regard.apps.server.served_kinds import SERVED_KINDS

    if isinstance(opened, TextReader):  # one without learned positions gets a limit
        frame = opened.frame
        opened.frame = Frame(longest=frame.longest or LONGEST_TEXT, separators=frame.separators)
    for kind, served in SERVED_KINDS.items():
        if isinstance(opened, kind):
            return served(name, opened, path)
    raise UsageError(
        f"{path}: a {type(opened).__name__}, which is not served; translators, language models, classifiers, taggers, "
        "fillers of masks, sentence encoders, and models of pictures, nodes, points and sets are"
    )


def model_name(path: str | Path) -> str:
    """The name of a model by its file or run folder."""
    return Path(path).stem or str(path)
