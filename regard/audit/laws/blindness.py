"""keep(i, ·) = False  ⇒  output_i reads nothing, and all gradients are finite"""

from dataclasses import dataclass

import torch

from regard.audit.example import Example
from regard.audit.law import Law
from regard.audit.subject import Subject, at_positions


@dataclass(frozen=True)
class Blindness(Law):
    """A query that may look at nothing gets finite numbers, spoils nobody's gradient, and reads nothing."""

    question = "Does a row that may look at nothing stay finite, and read nothing?"

    def exemption(self, subject: Subject) -> str | None:
        if subject.claims.masks == "none":
            return "it takes no mask"
        return "every position sees itself" if subject.claims.own else None

    def breach(self, subject: Subject, example: Example) -> str | None:
        keep = example.keep
        if subject.claims.masks == "padding":
            keep[0] = False
        else:
            keep[0, 0] = False
        inputs = subject.inputs(example, example.generator())
        followed = at_positions(inputs, tuple(inputs), lambda value: value.detach().requires_grad_())
        output = subject(followed, keep)
        if not output.isfinite().all():
            return f"the output is {_odd(output)}"
        slopes = torch.autograd.grad(
            output.square().sum(), list(followed.values()), retain_graph=True, allow_unused=True
        )
        for name, slope in zip(followed, slopes, strict=True):
            if slope is not None and not slope.isfinite().all():
                return f"the gradient of {name} is {_odd(slope)}"
        if subject.claims.deep:  # what a text without any position reads is nobody's concern
            return None
        rows = output[0] if subject.claims.masks == "padding" else output[0][..., :1, :]
        slopes = torch.autograd.grad(rows.square().sum(), [followed[name] for name in subject.columns])
        for slope in slopes:
            seen = slope[0][..., 1 if subject.is_self else 0 :, :]
            if seen.numel() and float(seen.abs().max()) > 0:
                return "it reads from keys that it may not see, as if all of them were allowed"
        return None


def _odd(numbers: torch.Tensor) -> str:
    return "nan" if numbers.isnan().any() else "infinite"
