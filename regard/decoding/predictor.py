"""What `regard predict` prints: the answers of models that write no texts; and the features of those that read some."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.base.errors import UsageError
from regard.data.framed import Frame, batch_of
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.batching import batches, in_batches
from regard.decoding.scorer import evaluating, most_positions
from regard.decoding.vectors import EncoderInputs, PooledVectors
from regard.models.headed import Headed


@dataclass(frozen=True)
class Prediction:
    """The answer to one line: as text, and in full, ready for JSON."""

    text: str
    details: Mapping[str, Any]


class Answering(ABC):
    """What gives an answer to each line; `regard predict` serves it."""

    @abstractmethod
    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The answer to each line."""


class TextReader(PooledVectors):
    """A model with its tokenizer that reads texts; `embed` gives the vector of each text, or pair of texts."""

    def __init__(self, model: Headed, subwords: Subwords, *, frame: Frame = Frame(), batch_tokens: int = 8192) -> None:  # noqa: B008 a frozen value
        self.model, self.subwords, self.batch_tokens = model, subwords, batch_tokens
        limits = [one for one in (frame.longest, most_positions([model])) if one is not None]
        self.frame = Frame(longest=min(limits, default=None), separators=frame.separators)

    @property
    def encoder(self) -> Headed:
        return self.model

    def encodable(self, inputs: EncoderInputs) -> Iterator[tuple[list[int], tuple[Any, ...]]]:
        """Texts in batches of similar length."""
        device = next(self.model.parameters()).device
        rows = self.frame.rows(self.subwords, [_texts(one, at) for at, one in enumerate(inputs, start=1)])
        for numbers in batches([len(row) for row, _ in rows], self.batch_tokens):
            yield numbers, batch_of([rows[at] for at in numbers]).to(device).parts

    def outputs(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Tensor]:
        """What the model makes of each row of tokens and segments; it does not depend on the other rows."""
        device = next(self.model.parameters()).device

        def work(batch: list[tuple[Sequence[int], Sequence[int]]]) -> list[Tensor]:
            with evaluating([self.model]):
                made = self.model(*batch_of(batch).to(device).parts)
            return list(made.float().cpu().unbind())

        return in_batches(list(rows), [len(row) for row, _ in rows], work, self.batch_tokens)


class Predictor(TextReader, Answering):
    """A model with its tokenizer that gives an answer to each line."""


def _texts(example: Any, number: int) -> list[str]:
    """One or two texts, without white space around them."""
    texts = list(example) if isinstance(example, list | tuple) else [example]
    if not 1 <= len(texts) <= 2 or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"embed: input {number} must be a text, or a pair of texts, but is {example!r}")
    return [text.strip() for text in texts]
