"""attention(x) = attention(x_1..t), cached, then attention(x_t+1..n)"""

from dataclasses import dataclass

from regard.audit.example import Example
from regard.audit.law import Law, unequal
from regard.audit.subject import Subject


@dataclass(frozen=True)
class Caching(Law):
    """With a KV cache the answer is the same as without, wherever the text is cut."""

    question = "Does cached equal uncached?"
    masks = "none"

    def exemption(self, subject: Subject) -> str | None:
        example = Example(1, 2, 2)
        known = subject.cached(subject.inputs(example, example.generator()), 1) is not None
        return None if known else "it has no cache that is known here"

    def breach(self, subject: Subject, example: Example) -> str | None:
        inputs = subject.inputs(example, example.generator())
        whole = subject(inputs, None)
        for cut in range(1, example.keys):
            parts = subject.cached(inputs, cut)
            if parts is None:
                return None
            said = unequal(subject, parts, whole, f"cached after {cut} of {example.keys} positions, and uncached")
            if said is not None:
                return said
        return None
