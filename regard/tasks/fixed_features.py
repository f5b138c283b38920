"""Labeled texts whose features stay as they are: the encoder reads each text once, and a head learns from its vector.

    v_i = pool(encode(text_i)), computed before the first step;  logits = head(v_i) at each step

Where only a head learns, a step then costs as much as the head, not as much as the encoder. The vectors are computed in
the batches of the first epoch, so that they are the same bits whenever training is resumed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor

from regard.data.item import even_rows
from regard.data.labels import LabeledRows, LabeledTexts
from regard.data.plan import BatchPlan, BatchPosition
from regard.models.headed import ClassHead, Headed, pool


@dataclass(frozen=True)
class LabeledVectors:
    """A batch of texts, of which only the pooled features are left, and their labels."""

    vectors: Float32[Tensor, "batch width"]
    labels: Int64[Tensor, "batch"] | Float32[Tensor, "batch classes"]
    weights: Float32[Tensor, "batch"]

    @property
    def count(self) -> int:
        """The number of texts."""
        return len(self.labels)

    @property
    def size(self) -> int:
        """The number of texts; none of them is padding."""
        return len(self.labels)

    def to(self, device: torch.device | str) -> "LabeledVectors":
        """The same batch on another device."""
        return LabeledVectors(
            *(part.to(device, non_blocking=True) for part in (self.vectors, self.labels, self.weights))
        )

    def shares(self, count: int) -> list["LabeledVectors"]:
        """At most `count` batches of about as many texts each."""
        parts = even_rows(torch.ones_like(self.weights, dtype=torch.int64), count)
        return [LabeledVectors(self.vectors[rows], self.labels[rows], self.weights[rows]) for rows in parts]

    def logits(self, model: Headed) -> Tensor:
        """What the head makes of the vectors: each is a text of one position, whose pooled features are its own."""
        keep: Bool[Tensor, "batch length"] = torch.ones_like(self.vectors[:, :1], dtype=torch.bool)
        logits: Tensor = model.head(self.vectors[:, None], keep)
        return logits


@dataclass(frozen=True)
class VectorRows:
    """The vectors of all texts, in the batches that the texts had."""

    vectors: Float32[Tensor, "texts width"]
    labels: Tensor
    weights: Tensor
    plan: BatchPlan

    def at(self, position: BatchPosition) -> LabeledVectors:
        """The batch at a position."""
        return self.of(self.plan.at(position).tolist())

    def of(self, chosen: Sequence[int]) -> LabeledVectors:
        """A batch of the texts with these numbers."""
        rows = torch.tensor(chosen)
        return LabeledVectors(self.vectors[rows], self.labels[rows], self.weights[rows])

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, LabeledVectors]]:
        """Each position and its batch from the given one on, without end."""
        return ((at, self.at(at)) for at in self.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many batches the first epoch has, and how many texts."""
        return len(self.plan.plan(0)), len(self.plan)


def are_fixed(model: Headed, rows: LabeledRows) -> bool:
    """Whether a text has the same pooled features at every step: only the head learns, and no words drop out."""
    fixed = not any(weight.requires_grad for name, weight in model.named_parameters() if not name.startswith("head."))
    return fixed and isinstance(model.head, ClassHead) and not rows.dropout.rate


def rows_of_vectors(model: Headed, rows: LabeledRows) -> VectorRows:
    """The rows with their texts read."""
    chosen = [torch.from_numpy(batch).long() for batch in rows.plan.plan(0)]
    found = torch.cat([read_once(model, rows.of(batch.tolist())).vectors for batch in chosen])
    vectors = found.new_zeros(len(rows.labels), found.shape[1]).index_copy(0, torch.cat(chosen), found)
    return VectorRows(vectors, rows.labels, rows.weights, rows.plan)


@torch.no_grad()
def read_once(model: Headed, item: LabeledTexts) -> LabeledVectors:
    """A batch with its texts read, without dropout."""
    learning, own = model.training, item.to(next(model.parameters()).device)
    pooled = pool(model.head.pooling, *model.eval().encode(*own.texts.parts))  # type: ignore[arg-type]
    model.train(learning)
    return LabeledVectors(pooled.cpu(), item.labels, item.weights)
