"""attention(batch)_b = attention(batch_b)"""

from dataclasses import dataclass, replace

from regard.audit.example import Example
from regard.audit.law import Law, unequal
from regard.audit.subject import Subject


@dataclass(frozen=True)
class Company(Law):
    """The answer for an example does not depend on the batch that it is in, nor on the call."""

    question = "Is the answer the same alone and in a batch?"

    def breach(self, subject: Subject, example: Example) -> str | None:
        example = replace(example, batch=max(2, example.batch))
        inputs, mask = subject.inputs(example, example.generator()), subject.mask(example)
        together = subject(inputs, mask)
        for at in range(example.batch):
            one = {name: value[at : at + 1] for name, value in inputs.items()}
            alone = subject(one, None if mask is None else mask[at : at + 1])
            said = unequal(subject, together[at : at + 1], alone, f"example {at} alone and in its batch")
            if said is not None:
                return said
        return None
