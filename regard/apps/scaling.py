"""How long a training step takes on more ranks: a small model of computing, of sending gradients and of waiting.

    step(N) = compute / N + update + max(0, sending(N) - overlap · compute / N)
    sending(N) = 2 (N - 1) / N · gradient bytes / bandwidth + messages · latency · log2 N

The batch is shared out, so computing shrinks with the number of ranks N; the update of the weights does not, since each
rank makes it whole. Gradients are sent while the backward pass, two thirds of computing, goes on. See Hockney, 1994,
for the cost of messages, and Patarasuk and Yuan, 2009, for 2 (N - 1) / N.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log2

OVERLAP = 2 / 3
"""the backward pass's share of computing"""
PAYS = 1.5
"""twice the ranks pay if they are at least so many times as fast"""
_NUMBERS = tuple(2**power for power in range(13))


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """What one step costs one rank that does all of it."""

    compute: float
    """seconds of the forward and backward pass over the whole batch"""
    update: float
    """seconds of gradient clipping and the optimizer"""
    gradient_bytes: float
    bandwidth: float
    """bytes a second between two ranks"""
    latency: float = 50e-6
    """seconds until a message arrives"""
    bucket_bytes: float = 8 << 20
    """gradients that are sent together"""

    def seconds(self, ranks: int) -> float:
        """The seconds of a step on so many ranks."""
        shared = self.compute / ranks
        return shared + self.update + max(0.0, self.sending(ranks) - OVERLAP * shared)

    def sending(self, ranks: int) -> float:
        """The seconds that it takes to add up the gradients."""
        if ranks == 1:
            return 0.0
        messages = 2 * max(1.0, self.gradient_bytes / self.bucket_bytes)
        carried = 2 * (ranks - 1) / ranks * self.gradient_bytes / self.bandwidth
        return carried + messages * self.latency * log2(ranks)

    def speedup(self, ranks: int) -> float:
        """How many times as fast as one rank."""
        return self.seconds(1) / self.seconds(ranks)

    def most(self, numbers: Sequence[int] = _NUMBERS) -> int:
        """The largest number of ranks that pays: twice as many would be less than 1.5 times as fast."""
        best = 1
        for ranks in numbers[1:]:
            if self.speedup(ranks) < PAYS * self.speedup(best):
                break
            best = ranks
        return best

    def table(self, numbers: Sequence[int]) -> Iterator[tuple[int, float, float]]:
        """For each number of ranks: seconds a step, and how many times as fast as one."""
        return ((ranks, self.seconds(ranks), self.speedup(ranks)) for ranks in numbers)
