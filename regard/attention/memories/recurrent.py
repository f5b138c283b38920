"""S(t) = S(t-1) + φ(k_t) v_tᵀ,  z(t) = z(t-1) + φ(k_t),  read(q) = φ(q) S / φ(q) z

Linear attention as a recurrent network: all keys and values in one state matrix of fixed size. Katharopoulos et al.,
2020, https://arxiv.org/abs/2006.16236
"""

from dataclasses import dataclass, replace
from typing import Self

from torch import Tensor

from regard.attention.call import spread
from regard.attention.mask import Mask
from regard.attention.memory import Memory, check_blending, nothing_written
from regard.attention.reading import Reading
from regard.attention.score import Score
from regard.base.errors import CombinationError


@dataclass(frozen=True, eq=False)
class Recurrent(Memory):
    """For scores with positive features under the ratio normalizer; a query reads all that was written so far."""

    length: int = 0
    score: Score | None = None
    state: Tensor | None = None
    """S, [batch, heads, features, value width]"""
    total: Tensor | None = None
    """z, [batch, heads, features, 1]"""

    def start(self, reading: Reading) -> "Recurrent":
        score, normalizer = reading.score, reading.normalizer
        if not (score.factored and score.positive and normalizer.proportional):
            names = f"{type(score).__name__} with {type(normalizer).__name__}"
            raise CombinationError(
                f"recurrent memory: needs a score with positive features under a normalizer that divides by their sum, "
                f"Kernel with Ratio, not {names}"
            )
        return Recurrent(score=score)

    def extend(self, key: Tensor, value: Tensor, keep: Tensor | None = None) -> Self:
        if self.score is None:
            raise self.unbuilt()
        _, lifted, scale = self.score.factors(key[:, :, :0], key)
        if keep is not None:
            lifted = lifted.masked_fill(~keep[:, None, :, None], 0.0)
        state, total = lifted.mT @ value * scale, lifted.sum(2).unsqueeze(-1) * scale
        if self.state is not None and self.total is not None:
            state, total = self.state + state, self.total + total
        return replace(self, length=self.length + key.shape[2], state=state, total=total)

    def read(self, reading: Reading, query: Tensor, query_at: Tensor, keep: Mask | None = None) -> Tensor:
        if self.score is None or self.state is None or self.total is None:
            raise nothing_written(self)
        causal = keep is not None and all(part.causal for part in keep.conjuncts())
        check_blending(self, reading, None if causal else keep)
        lifted, _, _ = self.score.factors(query, query[:, :, :0])
        groups = query.shape[1] // self.state.shape[1]
        total = lifted @ spread(self.total, groups)
        nothing = total == 0
        output = lifted @ spread(self.state, groups) / total.masked_fill(nothing, 1.0)
        return output.masked_fill(nothing, 0.0)

    def reorder(self, batch: Tensor) -> Self:
        state, total = (None if side is None else side[batch] for side in (self.state, self.total))
        return replace(self, state=state, total=total)
