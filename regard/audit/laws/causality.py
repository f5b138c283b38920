"""∂output_i/∂input_j = 0 for every j > i"""

from dataclasses import dataclass

from regard.audit.example import Example
from regard.audit.law import Law
from regard.audit.laws.forbidden import leak
from regard.audit.subject import Subject


@dataclass(frozen=True)
class Causality(Law):
    """A causal attention sees nothing that comes later, forward and backward."""

    question = "Is it causal, as it claims?"
    masks = "none"

    def exemption(self, subject: Subject) -> str | None:
        return None if subject.claims.causal else "it does not claim to be causal"

    def breach(self, subject: Subject, example: Example) -> str | None:
        if example.queries > example.keys:
            return None
        return leak(subject, example, None)
