"""keep(i, j) = False  ⇒  output_i does not depend on key_j and value_j, and ∂output_i/∂(key_j, value_j) = 0 exactly"""

from dataclasses import dataclass

import torch

from regard.audit.example import Example
from regard.audit.law import Law, difference
from regard.audit.subject import Subject, at_positions


@dataclass(frozen=True)
class Forbidden(Law):
    """Positions that a mask forbids get exactly nothing, forward and backward."""

    question = "Do forbidden positions get exactly nothing, forward and backward?"

    def exemption(self, subject: Subject) -> str | None:
        return "it takes no mask" if subject.claims.masks == "none" else None

    def breach(self, subject: Subject, example: Example) -> str | None:
        return leak(subject, example, subject.mask(example))


def leak(subject: Subject, example: Example, keep: torch.Tensor | None) -> str | None:
    """What reaches an output from a position that it may not see, in words."""
    inputs = subject.inputs(example, example.generator())
    followed = at_positions(inputs, subject.columns, lambda value: value.detach().requires_grad_())
    output = subject(followed, keep)
    sight = subject.sight(example, keep)
    others = torch.Generator().manual_seed(example.seed + 1)
    for batch, key in torch.cartesian_prod(torch.arange(example.batch), torch.arange(example.keys)).tolist():
        blind = ~sight[batch, :, key]
        if subject.is_self:
            blind[key] = False  # its own output depends on it
        if not blind.any():
            continue
        part = output[batch][..., blind, :]
        slopes = torch.autograd.grad(
            part.square().sum(), [followed[name] for name in subject.columns], retain_graph=True
        )
        for slope in slopes:
            size = float(slope[batch][..., key, :].abs().max())
            if size != 0:
                rows = blind.nonzero().flatten().tolist()
                return f"queries {rows} may not see key {key}, but the gradient that reaches it is {size:.1e}"
        changed = at_positions(inputs, subject.columns, lambda value: value.clone())
        for name in subject.columns:
            value = changed[name]
            value[batch][..., key, :] = 3 * torch.randn(value[batch][..., key, :].shape, generator=others).to(value)
        again = subject(changed, keep)[batch][..., blind, :]
        apart = difference(again.detach(), part.detach())
        if apart > 1e-6:
            return f"key {key}, which may not be seen, changes other outputs by {apart:.1e} of the largest"
    return None
