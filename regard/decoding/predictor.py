"""What `regard predict` prints: the answers of models that write no texts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from regard.data.framed import Frame, batch_of
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.batching import in_batches
from regard.decoding.scorer import evaluating, most_positions
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


class Predictor(Answering):
    """A model with its tokenizer that gives an answer to each line."""

    def __init__(self, model: Headed, subwords: Subwords, *, frame: Frame = Frame(), batch_tokens: int = 8192) -> None:  # noqa: B008 a frozen value
        self.model, self.subwords, self.batch_tokens = model, subwords, batch_tokens
        limits = [one for one in (frame.longest, most_positions([model])) if one is not None]
        self.frame = Frame(longest=min(limits, default=None), separators=frame.separators)

    def outputs(self, rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[Tensor]:
        """What the model makes of each row of tokens and segments; it does not depend on the other rows."""
        device = next(self.model.parameters()).device

        def work(batch: list[tuple[Sequence[int], Sequence[int]]]) -> list[Tensor]:
            with evaluating([self.model]):
                made = self.model(*batch_of(batch).to(device).parts)
            return list(made.float().cpu().unbind())

        return in_batches(list(rows), [len(row) for row, _ in rows], work, self.batch_tokens)
