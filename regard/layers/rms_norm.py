"""Root mean square normalization: y = x / √(mean(x²) + ε) · weight

Zhang and Sennrich, 2019, https://arxiv.org/abs/1910.07467. Without gradients, in float32 on a CPU, fewer buffers are
written than by torch's own norm, in the same order of operations, so that the numbers are the same.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

_SMALL = 2**14
"""numbers below which the calls cost more than the passes"""


class RmsNorm(nn.RMSNorm):
    """torch's norm, faster where nothing is learned."""

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """The formula."""
        if torch.is_grad_enabled() or x.dtype != torch.float32 or x.device.type != "cpu" or x.numel() < _SMALL:
            return super().forward(x)
        epsilon = torch.finfo(x.dtype).eps if self.eps is None else self.eps
        normed = x * x.square().mean(-1, keepdim=True).add_(epsilon).rsqrt_()
        return normed if self.weight is None else normed.mul_(self.weight)
