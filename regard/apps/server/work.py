"""What the models are asked to do, as values: equal ones are done together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.apps.server.batcher import Work
from regard.apps.server.engines import Engine
from regard.decoding.translator import Pair, Translation


@dataclass(frozen=True)
class Translating(Work):
    """Texts to their translations."""

    engine: Engine
    n_best: int = 1
    alignments: bool = False

    def run(self, items: list[str]) -> list[Translation]:
        strategy = self.engine.strategy(self.n_best)
        return self.engine.translator.translate(items, strategy=strategy, alignments=self.alignments)

    def cost(self, item: str) -> int:
        return len(item)


@dataclass(frozen=True)
class Aligning(Work):
    """Texts and given translations to the words that belong together."""

    engine: Engine

    def run(self, items: list[tuple[str, str]]) -> Sequence[Any]:
        translator = self.engine.translator
        if translator.aligner is None:
            raise ValueError("the engine has no aligner")
        sources, targets = [source for source, _ in items], [target for _, target in items]
        read, said = translator.source.encode_batch(sources), translator.target.encode_batch(targets)
        rows = zip(sources, map(tuple, read), targets, map(tuple, said), strict=True)
        return translator.aligner([Pair(*row) for row in rows])

    def cost(self, item: tuple[str, str]) -> int:
        return sum(map(len, item))


class Question(NamedTuple):
    """A text whose translation is to be explained, and how that translation has to start."""

    text: str
    prefix: str = ""


@dataclass(frozen=True)
class Explaining(Work):
    """Texts to their translations with everything that led to them."""

    engine: Engine

    def run(self, items: list[Question]) -> list[dict[str, Any]]:
        from regard.inspection.explanation.explain import explain_text

        translator = self.engine.translator
        return [explain_text(translator, item.text, prefix=item.prefix).to_dict() for item in items]

    def cost(self, item: Question) -> int:
        return 8 * len(item.text)
