"""output = softmax(score(query, key), keep) @ value, computed with the subject's own weights in float64."""

from dataclasses import dataclass

from regard.audit.example import Example
from regard.audit.law import Law, unequal
from regard.audit.subject import Subject


@dataclass(frozen=True)
class Definition(Law):
    """The output is the one that the formula gives; rows that may look at nothing are left to `blindness`."""

    question = "Does it equal its definition?"

    def exemption(self, subject: Subject) -> str | None:
        example = Example(1, 1, 1)
        inputs = subject.inputs(example, example.generator())
        if subject.trusted is None and subject.definition(inputs, None) is None:
            return "no formula is known for it; give a reference to compare it with"
        return None

    def breach(self, subject: Subject, example: Example) -> str | None:
        inputs, mask = subject.inputs(example, example.generator()), subject.mask(example)
        if subject.trusted is not None:
            right = subject.trusted(inputs, mask)
            what = "its output is not that of the reference"
        else:
            by_formula = subject.definition(inputs, mask)
            if by_formula is None:
                return None
            right, what = by_formula, "its output is not that of the formula"
        found = subject(inputs, mask)
        if found.shape != right.shape:
            return f"its output has the shape {tuple(found.shape)} instead of {tuple(right.shape)}"
        return unequal(subject, found, right, what)
