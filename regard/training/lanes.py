"""Data-parallel training on the CPU: several threads, each on its own share of the batch.

Two threads that split every matrix product wait for each other after each product, and all other work is done by one
of them. Two threads with half of the rows each wait only at the end of the step: on two cores a Transformer then
trains about a quarter faster.

    gradient = Σ_lanes gradient of the lane's share

Every lane has a replica of the model that shares the weights but has its own gradients. Gradients are summed in the
order of the lanes and a lane's random numbers follow from (seed, lane), so that a step is deterministic.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import torch
from torch import Tensor, nn

from regard.attention.reading import Reading
from regard.base.chance import drawing
from regard.data.item import Item
from regard.layers.dropout import Dropout
from regard.training.loss import Objective

TOTAL = "loss"
"""the name of the total loss among the sums of a step"""
Sums = Mapping[str, Tensor]
"""the loss and its parts, each summed over the batches of a step"""
_MOST = 4
"""more lanes would wait for Python's interpreter lock; further cores help within a lane"""


class Lanes:
    """Threads with replicas of a model; the first lane is the calling thread with the model itself."""

    def __init__(self, model: nn.Module, count: int | None = None) -> None:
        threads = torch.get_num_threads()
        self.count = lane_count(model, threads) if count is None else count
        self._each = max(1, threads // self.count)
        self._models = [model, *(twin(model) for _ in range(self.count - 1))]
        self._pool = ThreadPoolExecutor(max(1, self.count - 1), "lane")

    def backward(self, objective: Objective, item: Item, count: int, seed: int) -> Sums:
        """Accumulate the gradients of loss / count; returns the sums of the loss and of its parts."""
        if self.count == 1:
            return _backward(objective, self._models[0], item, count)

        def work(model: nn.Module, share: Item, number: int) -> Sums:
            torch.set_num_threads(self._each)
            with drawing(seed, number):
                return _backward(objective, model.train(), share, count)

        given = list(zip(self._models, item.shares(self.count), range(self.count), strict=False))
        threads = torch.get_num_threads()
        others = [self._pool.submit(work, *one) for one in given[1:]]
        try:
            losses = [work(*given[0])]
        finally:
            torch.set_num_threads(threads)
            done = [other.exception() for other in others]
        for failure in filter(None, done):
            raise failure
        self._gather()
        return added([*losses, *(other.result() for other in others)])

    def _gather(self) -> None:
        """Add the replicas' gradients to the model's, and clear them."""
        for copy in self._models[1:]:
            for weight, other in zip(self._models[0].parameters(), copy.parameters(), strict=True):
                if other.grad is not None:
                    weight.grad = other.grad if weight.grad is None else weight.grad.add_(other.grad)
                    other.grad = None


def lane_count(model: nn.Module, threads: int) -> int:
    """The number of lanes that is fastest: one on devices other than the CPU, or where torch draws random numbers.

    Torch's generator is shared by all threads, so that what each of them draws would depend on their speed.
    """
    if next(model.parameters()).device.type != "cpu" or any(map(_draws, model.modules())):
        return 1
    return min(threads, _MOST)


def twin(model: nn.Module) -> nn.Module:
    """A replica that shares the model's weights in memory but has its own gradients."""
    copy = deepcopy(model)
    for own, weight in zip(copy.parameters(), model.parameters(), strict=True):
        own.data, own.grad = weight.data, None
    return copy


def _draws(module: nn.Module) -> bool:
    if isinstance(module, Dropout):
        return module.share > 0 and not module.by_bytes
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return module.p > 0
    return isinstance(module, Reading | nn.RNNBase) and module.dropout > 0


def added(sums: Sequence[Sums]) -> Sums:
    """Add up the sums of several shares or batches, in order."""
    return {name: torch.stack([own[name] for own in sums]).sum() for name in sums[0]}


def _backward(objective: Objective, model: nn.Module, item: Item, count: int) -> Sums:
    loss = objective(model, item)
    (loss.total / count).backward()
    return {TOTAL: loss.total.detach().double()} | {name: part.detach().double() for name, part in loss.parts.items()}
