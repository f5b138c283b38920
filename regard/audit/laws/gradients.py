"""⟨∇f, d⟩ = (f(x + ε d) − f(x − ε d)) / 2ε"""

from dataclasses import dataclass

import torch

from regard.audit.example import Example
from regard.audit.law import Law
from regard.audit.subject import Subject

_STEP = {torch.float64: (1e-6, 1e-6), torch.float32: (1e-2, 2e-2)}
"""the step of the finite difference, and how far it may be from the gradient, relative to its size"""


@dataclass(frozen=True)
class Gradients(Law):
    """Gradients are slopes: along a random direction they equal a central difference."""

    question = "Are its gradients the slopes of its outputs?"

    def breach(self, subject: Subject, example: Example) -> str | None:
        generator = example.generator()
        inputs, mask = subject.inputs(example, generator), subject.mask(example)
        step, allowed = _STEP[subject.precision]
        for name in inputs:
            direction = torch.randn(inputs[name].shape, generator=generator).to(inputs[name])
            direction = direction / direction.norm()
            followed = {key: value.detach().requires_grad_() for key, value in inputs.items()}
            output = subject(followed, mask)
            weights = torch.randn(output.shape, generator=generator).to(output)
            (slope,) = torch.autograd.grad((output * weights).sum(), followed[name], allow_unused=True)
            found = 0.0 if slope is None else float((slope * direction).sum())
            ends = [
                (subject({**inputs, name: inputs[name] + sign * step * direction}, mask).detach() * weights).sum()
                for sign in (1, -1)
            ]
            right = float(ends[0] - ends[1]) / (2 * step)
            size = max(abs(right), float(weights.norm()) * 1e-1)
            if not abs(found - right) <= allowed * size:
                return f"along {name} the slope is {right:.6g}, but its gradient says {found:.6g}"
        return None
