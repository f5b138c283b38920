"""The losses of contrastive learning: two views of an example are to be near, and far from those of all others.

    NT-Xent = -1/2N Σ_i log exp(cos(z_i, z_j(i)) / τ) / Σ_{k ≠ i} exp(cos(z_i, z_k) / τ),  j(i) the other view of i

Chen et al., SimCLR, 2020, https://arxiv.org/abs/2002.05709. Of pairs of two kinds, such as pictures and captions, each
finds its partner among those of the other kind alone (Radford et al., CLIP, 2021, https://arxiv.org/abs/2103.00020):

    loss = -1/N Σ_i ½ (log softmax_j(s_ij)_i + log softmax_j(s_ji)_i),  s_ij the likeness of a_i and b_j
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def nt_xent(
    first: Float[Tensor, "batch width"], second: Float[Tensor, "batch width"], temperature: float
) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The sum over the batch of the mean of both directions, and how many views find their other view first."""
    both = F.normalize(torch.cat((first, second)), dim=1)
    logits = (both @ both.T / temperature).fill_diagonal_(-math.inf)
    others = torch.arange(len(both), device=both.device).roll(len(first))
    found = (logits.detach().argmax(1) == others).sum() / 2
    return F.cross_entropy(logits, others, reduction="sum") / 2, found.to(logits)


def partner_loss(logits: Float[Tensor, "batch batch"]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
    """The sum over pairs of the mean of both directions, and how many of the first kind find their partner first."""
    own = torch.arange(len(logits), device=logits.device)
    total = (F.cross_entropy(logits, own, reduction="sum") + F.cross_entropy(logits.T, own, reduction="sum")) / 2
    return total, (logits.detach().argmax(1) == own).sum().to(logits)
