"""attention(P x) = P attention(x); for keys apart from queries, attention(q, P k, P v) = attention(q, k, v)"""

from dataclasses import dataclass

import torch

from regard.audit.example import Example
from regard.audit.law import Law, unequal
from regard.audit.subject import Subject, at_positions


@dataclass(frozen=True)
class Permutation(Law):
    """Without positions, attention is equivariant under permutation: it sees a set."""

    question = "Is it equivariant under permutation?"

    def exemption(self, subject: Subject) -> str | None:
        if subject.claims.positions != "none":
            return f"it has {subject.claims.positions} positions"
        if subject.claims.causal:
            return "it is causal"
        return "it takes only masks of padding, which have an order" if subject.claims.masks == "padding" else None

    def breach(self, subject: Subject, example: Example) -> str | None:
        generator = example.generator()
        inputs, mask = subject.inputs(example, generator), subject.mask(example)
        order = torch.randperm(example.keys, generator=generator)
        moved = at_positions(inputs, subject.columns, lambda value: value[..., order, :])
        if not subject.is_self:
            found, right = subject(moved, None if mask is None else mask[..., order]), subject(inputs, mask)
        else:
            found = subject(moved, None if mask is None else mask[:, order][..., order])
            right = subject(inputs, mask)[..., order, :]
        return unequal(subject, found, right, f"in the order {order.tolist()}")
