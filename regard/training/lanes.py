"""Data-parallel training: a batch is cut into lanes, which several threads and several processes share.

    gradient = Σ_lanes gradient of the lane's share

How many lanes there are is a setting of the run; who computes them is not. A lane's random numbers follow from
(seed, lane), and gradients are added in a fixed binary tree, so that one process and any number of ranks get the same
bits. Within a process on the CPU every lane is a thread with a replica of the model, which shares the weights but has
its own gradients: two threads that split every matrix product wait for each other after each product, two threads with
half of the rows each wait only at the end of the step, and a Transformer then trains about a quarter faster.
On a GPU, and where torch draws random numbers, the lanes of a process follow each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy

import torch
from torch import Tensor, nn

from regard.attention.reading import Reading
from regard.base.chance import drawing
from regard.base.errors import CombinationError
from regard.base.ranks import ALONE, Ranks
from regard.data.item import Item
from regard.layers.dropout import Dropout
from regard.training.exchange import Exchange, add_present
from regard.training.loss import Objective
from regard.training.tree import Node, block, halves, tree_sum

TOTAL = "loss"
"""the name of the total loss among the sums of a step"""
Sums = Mapping[str, float]
"""the loss and its parts, each summed over the batches of a step"""
_MOST = 4
"""more lanes would wait for Python's interpreter lock; further cores help within a lane"""


class Lanes:
    """The lanes of one process; in threads, the first is the calling thread with the model itself."""

    def __init__(self, model: nn.Module, count: int | None = None, ranks: Ranks = ALONE) -> None:
        threads = torch.get_num_threads()
        self.count = max(lane_count(model, threads), ranks.size) if count is None else count
        if self.count > 1 and looks_at_batches(model):
            raise CombinationError(
                f"training.lanes: batch norm looks at whole batches, which {self.count} lanes would cut; "
                "use training.lanes = 1 in one process, or another norm"
            )
        self._own = block(self.count, ranks.rank, ranks.size)
        self._numbers = range(*self._own)
        self.threads = max(1, threads // len(self._numbers))
        """the threads that compute one lane"""
        self._model, self._ranks = model, ranks
        beside = len(self._numbers) if can_thread(model) else 1
        self._models = [model, *(twin(model) for _ in range(beside - 1))]
        self._pool = ThreadPoolExecutor(max(1, beside - 1), "lane")
        self._kept: list[tuple[Node, list[Tensor | None]]] = []
        self._last = [False] * beside
        self._weights = [[weight for weight in copy.parameters() if weight.requires_grad] for copy in self._models]
        self._exchange: Exchange | None = None
        if ranks.size > 1:
            self._exchange = Exchange(self._weights[0], self.count, ranks, self._leaves)
            self._watch(self._exchange)

    def backward(self, objective: Objective, items: Sequence[Item], count: int, seeds: Sequence[int]) -> Sums:
        """Accumulate the gradients of loss / count over batches, one seed each; returns the sums of the losses."""
        if self.count == 1:
            return added([_backward(objective, self._model, item, count) for item in items])
        given = list(zip((item.shares(self.count) for item in items), seeds, strict=True))
        if self._exchange is not None:
            self._exchange.start(len(self._models))
        losses = self._side_by_side(objective, given, count) if len(self._models) > 1 else None
        own = losses or [self._lane(objective, self._models[0], number, given, count) for number in self._numbers]
        lanes = self._sum(own)
        return added([added([lane[at] for lane in lanes if lane[at]]) for at in range(len(items))])

    @contextmanager
    def lane_threads(self) -> Iterator[None]:
        """Inside, as many threads as one lane has: what ranks do with the same threads has the same bits."""
        threads = torch.get_num_threads()
        if self.count > 1:
            torch.set_num_threads(self.threads)
        try:
            yield
        finally:
            torch.set_num_threads(threads)

    def _side_by_side(self, objective: Objective, given: "_Given", count: int) -> list[list[Sums]]:
        def work(model: nn.Module, number: int) -> list[Sums]:
            torch.set_num_threads(self.threads)
            return self._lane(objective, model.train(), number, given, count)

        threads = torch.get_num_threads()
        first, *rest = zip(self._models, self._numbers, strict=True)
        others = [self._pool.submit(work, *one) for one in rest]
        try:
            losses = [work(*first)]
        finally:
            torch.set_num_threads(threads)
            done = [other.exception() for other in others]
        for failure in filter(None, done):
            raise failure
        return [*losses, *(other.result() for other in others)]

    def _lane(self, objective: Objective, model: nn.Module, number: int, given: "_Given", count: int) -> list[Sums]:
        """The losses of a lane on all batches; an empty one where a batch has fewer shares than lanes."""
        losses: list[Sums] = []
        alone, place = len(self._models) == 1, 0 if len(self._models) == 1 else number - self._own[0]
        for at, (shares, seed) in enumerate(given):
            if number >= len(shares):
                losses.append({})
                continue
            self._last[place] = at + 1 == len(given) and (not alone or number + 1 == self._own[1])
            if alone:
                torch.manual_seed(lane_seed(seed, number))
            with drawing(seed, number):
                losses.append(_backward(objective, model, shares[number], count))
        self._last[place] = False
        if alone and number + 1 < self._own[1]:
            self._keep(number)
        return losses

    def _keep(self, number: int) -> None:
        """Put a lane's gradients aside, and add those that make a whole node of the tree."""
        self._kept.append(((number, number + 1), [weight.grad for weight in self._weights[0]]))
        for weight in self._weights[0]:
            weight.grad = None
        while len(self._kept) > 1 and self._is_node(self._kept[-2][0], self._kept[-1][0]):
            (right, more), (left, some) = self._kept.pop(), self._kept.pop()
            self._kept.append(((left[0], right[1]), [add_present(*both) for both in zip(some, more, strict=True)]))

    def _is_node(self, left: Node, right: Node) -> bool:
        node = (0, self.count)
        while node[1] - node[0] > 1 and node != (left[0], right[1]):
            node = next(half for half in halves(node) if half[0] <= left[0] < half[1])
        return node == (left[0], right[1])

    def _leaves(self, weight: int) -> dict[Node, Tensor | None]:
        """The gradients of a weight in this process, each with the lanes that it is the sum of."""
        if len(self._models) > 1:
            pairs = zip(self._numbers, self._weights, strict=True)
            return {(number, number + 1): weights[weight].grad for number, weights in pairs}
        last = self._numbers[-1]
        kept = {node: gradients[weight] for node, gradients in self._kept}
        return kept | {(last, last + 1): self._weights[0][weight].grad}

    def _sum(self, losses: list[list[Sums]]) -> list[list[Sums]]:
        """Give the model the sum of all lanes' gradients, and clear the others; returns the losses of all lanes."""
        mine, (first, *others) = len(self._weights[0]), self._weights
        with torch.no_grad():
            if self._exchange is None:
                sums = [tree_sum((0, self.count), self._leaves(number), add_present) for number in range(mine)]
            else:
                sums = list(self._exchange.finish())
                told = self._ranks.gather([losses, sorted(self._exchange.absent)])
                losses = [lane for own, _ in told for lane in own]
                for number in set.intersection(*(set(absent) for _, absent in told)):
                    sums[number] = None
        for weight, total in zip(first, sums, strict=True):
            weight.grad = total
        for weight in (weight for other in others for weight in other):
            weight.grad = None
        self._kept.clear()
        return losses

    def _watch(self, exchange: Exchange) -> None:
        """Tell the exchange of each gradient that a last backward pass makes."""

        def told(place: int, number: int) -> None:
            if self._last[place]:
                exchange.made(number)

        for place, weights in enumerate(self._weights):
            for number, weight in enumerate(weights):
                weight.register_post_accumulate_grad_hook(lambda _, place=place, number=number: told(place, number))


_Given = Sequence[tuple[Sequence[Item], int]]


def can_thread(model: nn.Module) -> bool:
    """Whether lanes can be threads: on the CPU, unless torch draws random numbers.

    Torch's generator is shared by all threads, so that what each of them draws would depend on their speed.
    """
    return next(model.parameters()).device.type == "cpu" and not any(map(_draws, model.modules()))


def lane_count(model: nn.Module, threads: int) -> int:
    """The number of lanes that is fastest in one process."""
    return min(threads, _MOST) if can_thread(model) and not looks_at_batches(model) else 1


def looks_at_batches(model: nn.Module) -> bool:
    """Whether what a model computes in training for an example depends on the others of its batch."""
    return any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in model.modules())


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
    return {name: torch.tensor([own[name] for own in sums], dtype=torch.float64).sum().item() for name in sums[0]}


def lane_seed(seed: int, lane: int) -> int:
    """The seed of torch's generator for a lane."""
    return (seed * 0x9E3779B97F4A7C15 + lane + 1) % 2**63


def _backward(objective: Objective, model: nn.Module, item: Item, count: int) -> Sums:
    loss = objective(model, item)
    (loss.total / count).backward()
    sums = {TOTAL: loss.total} | dict(loss.parts)
    return {name: part.detach().double().item() for name, part in sums.items()}
