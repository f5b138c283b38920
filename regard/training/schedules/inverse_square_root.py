"""Linear warm-up, then decay with the inverse square root of the step: the schedule of the original Transformer.

Vaswani et al., Attention Is All You Need, 2017, https://arxiv.org/abs/1706.03762, section 5.3
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.base.errors import check_at_least
from regard.training.schedule import Schedule


@dataclass(frozen=True)
class InverseSquareRoot(Schedule):
    """share(t) = min(t / warmup, √(warmup / t)), whose peak is 1 at t = warmup.

    The paper's rate, width^-½ · min(t^-½, t · warmup^-³ᐟ²), is this with a learning rate of (width · warmup)^-½.
    """

    warmup: int = 4000
    """warm-up: the steps in which the learning rate rises linearly to its peak"""

    def __post_init__(self) -> None:
        check_at_least("inverse_square_root", 1, warmup=self.warmup)

    def share(self, step: int, scores: Sequence[float]) -> float:
        return float(min(step / self.warmup, (self.warmup / step) ** 0.5))
