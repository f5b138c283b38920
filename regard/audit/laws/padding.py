"""attention([x; padding]) = attention(x) where x stands"""

from dataclasses import dataclass, replace

import torch

from regard.audit.example import Example
from regard.audit.law import Law, unequal
from regard.audit.subject import Subject


@dataclass(frozen=True)
class Padding(Law):
    """Padding behind a text that the mask hides changes nothing."""

    question = "Does padding leave the answer alone?"

    def exemption(self, subject: Subject) -> str | None:
        return "it takes no mask" if subject.claims.masks == "none" else None

    def breach(self, subject: Subject, example: Example) -> str | None:
        bare = replace(example, forbidden=())
        longer = replace(bare, keys=example.keys + 2, queries=example.queries + 2 * subject.is_self)
        inputs = subject.inputs(longer, longer.generator())
        short = {
            name: value[..., : example.keys if name in subject.columns else example.queries, :]
            for name, value in inputs.items()
        }
        keep = torch.ones(longer.batch, longer.queries, longer.keys, dtype=torch.bool)
        keep[..., example.keys :] = False
        alone = subject(short, bare.keep)
        padded = subject(inputs, keep)[..., : example.queries, :]
        return unequal(subject, padded, alone, "two positions of padding change the answer")
