r"""The cross-entropy with label smoothing, and its gradients, without storing all logits.

With z = W h + b and s = Σ_v z_v = h · Σ_v W_v + Σ_v b_v, a token's loss and its gradient by the logits are

    loss = lse(z) - (1 - ε) z_target - ε s / V
    ∂loss/∂z = softmax(z) - (1 - ε) onehot(target) - ε / V

The gradient follows from the softmax alone. So each block of rows gives its part of the loss and of the gradients by
h, W and b in the forward pass, in one buffer that the next block uses again; the term ε / V, the same for all logits,
is added at the end. As in Liger Kernel, Hsu et al., 2024, https://arxiv.org/abs/2410.10989, section 3.2.
"""

from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.native.training import takes, training_kernels


def blockwise(
    hidden: Float[Tensor, "tokens width"],
    weight: Float[Tensor, "vocabulary width"],
    bias: Float[Tensor, "vocabulary"] | None,
    targets: Int64[Tensor, "tokens"],
    smoothing: float,
    rows: int,
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The loss and the negative log-likelihood, summed over the tokens, `rows` of them at a time."""
    learning = torch.is_grad_enabled()
    total, likelihood = _Blockwise.apply(hidden, weight, bias, targets, smoothing, rows, learning)
    return total, likelihood


def wide(kind: torch.dtype) -> torch.dtype:
    """The dtype of sums."""
    return torch.promote_types(kind, torch.float32)


class _Blockwise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        rows: int,
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        sums = _Sums(hidden, weight, bias, learning)
        sums.hold(min(rows, len(hidden)))
        for start in range(0, len(hidden), rows):
            sums.add(slice(start, start + rows), targets[start : start + rows], smoothing)
        total = sums.finish(smoothing)
        if learning:
            ctx.save_for_backward(sums.by_hidden, sums.by_weight, sums.by_bias)
        ctx.mark_non_differentiable(sums.likelihood)
        return total, sums.likelihood

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if part is None else (part * slope).to(part.dtype) for part in ctx.saved_tensors)
        return (*gradients, None, None, None, None)


class _Sums:
    """The sums over the blocks. With mixed precision (autocast), products have its dtype, and sums a wide one."""

    buffer: Tensor
    by_bias: Tensor | None = None

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor | None, learning: bool) -> None:
        device = hidden.device.type
        kind = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        self.hidden, self.weight, self.learning = hidden.to(kind), weight.to(kind), learning
        self.bias = None if bias is None else bias.contiguous()
        self.likelihood = torch.zeros((), dtype=wide(kind), device=hidden.device)
        self.partition = torch.zeros_like(self.likelihood)
        wide_bias = bias is None or bias.dtype == torch.float32
        self.kernels = training_kernels() if wide_bias and takes(self.hidden, self.weight, bias) else None
        if learning:
            self.by_hidden = torch.empty_like(hidden)
            self.by_weight = torch.zeros_like(weight)
            self.by_bias = None if bias is None else torch.zeros_like(bias, memory_format=torch.contiguous_format)

    def hold(self, rows: int) -> None:
        """Make room for the logits of a block; the kernels write their slopes as short as these are."""
        kind = self.likelihood.dtype if self.kernels is None else self.hidden.dtype
        self.buffer = self.hidden.new_empty(rows, len(self.weight), dtype=kind)

    def add(self, block: slice, targets: Int64[Tensor, "rows"], smoothing: float) -> None:
        """Add one block; its logits, their exponentials and the gradient share one buffer."""
        hidden = self.hidden[block]
        logits = self.buffer[: len(hidden)]
        if logits.dtype == hidden.dtype:
            torch.mm(hidden, self.weight.T, out=logits)
        else:
            logits.copy_(hidden @ self.weight.T)
        log_total, at_target = self._compute(logits, targets, 1 - smoothing)
        self.partition += log_total.sum()
        self.likelihood += (log_total - at_target).sum()
        if self.learning:
            slopes = logits.to(self.weight.dtype)
            self.by_hidden[block] = slopes @ self.weight
            if self.by_weight.dtype == slopes.dtype:
                self.by_weight.addmm_(slopes.T, hidden)
            else:
                self.by_weight += slopes.T @ hidden

    def _compute(self, logits: Tensor, targets: Tensor, share: float) -> tuple[Tensor, Tensor]:
        """log Σ exp(logits + b) and the logits of the targets; if learning, the slopes replace the logits."""
        if self.kernels is not None:  # in one pass over memory
            return self.kernels.loss_and_slopes(logits, self.bias, targets, share, self.by_bias, learning=self.learning)
        if self.bias is not None:
            logits += self.bias
        top, places = logits.amax(1, keepdim=True), targets[:, None]
        at_target = logits.gather(1, places)
        total = logits.sub_(top).exp_().sum(1, keepdim=True)
        if self.learning:
            logits.div_(total).scatter_add_(1, places, torch.full_like(at_target, -share))
            if self.by_bias is not None:
                self.by_bias += logits.sum(0)
        return (total.log() + top)[:, 0], at_target[:, 0]

    def finish(self, smoothing: float) -> Tensor:
        """The loss after all blocks; adds the label-smoothing term, the same for all logits, to the gradients."""
        share = smoothing / len(self.weight)
        all_hidden = self.hidden.sum(0, dtype=self.likelihood.dtype)
        all_weight = self.weight.sum(0, dtype=self.likelihood.dtype)
        all_logits = all_hidden @ all_weight
        if self.bias is not None:
            all_logits = all_logits + len(self.hidden) * self.bias.sum()
        if self.learning and smoothing:
            self.by_hidden -= share * all_weight
            self.by_weight -= share * all_hidden
            if self.by_bias is not None:
                self.by_bias -= share * len(self.hidden)
        return (1 - smoothing) * self.likelihood + smoothing * self.partition - share * all_logits
