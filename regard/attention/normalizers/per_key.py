"""weights = logits / n,  n the number of keys that the query may see

Non-local networks by dot product and by concatenation: Wang et al., 2018, https://arxiv.org/abs/1711.07971
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.normalizer import Normalizer


@dataclass(frozen=True)
class PerKey(Normalizer):
    """Each key counts by its own logit, which may be negative; the weights need not sum to one."""

    sums_to_one = False
    signed = True

    def forward(self, logits: Tensor) -> Tensor:
        seen = logits > self.nothing
        return logits.masked_fill(~seen, 0.0) / seen.sum(-1, keepdim=True).clamp(min=1)
