"""Adds up gradients over ranks in the fixed order of the tree, while the backward pass still computes the next ones.

Gradients are sent in buckets, the last layers first, because the backward pass finishes those first. Each rank sums
its own lanes, sends every other rank a slice of the result, adds the slices it receives in the order of the tree, and
sends its sum to all: about twice the bytes of the gradient, whatever the number of ranks, as in a ring all-reduce.

A gradient that a rank does not have counts as -0.0: x + -0.0 is x for every x, to the bit.
Li et al., PyTorch Distributed, 2020, https://arxiv.org/abs/2006.15704, has buckets and the overlap.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.base.ranks import Ranks, lost_ranks_named
from regard.training.tree import Node, block, forest, tree_sum

BUCKET = 8 << 20
"""bytes of gradients that are sent together"""
Leaves = Callable[[int], Mapping[Node, Tensor | None]]
"""from the number of a weight to its gradients in this rank's lanes, or in sums of some of them"""


class Exchange:
    """The sums of gradients over the lanes of all ranks."""

    def __init__(self, weights: Sequence[nn.Parameter], lanes: int, ranks: Ranks, leaves: Leaves) -> None:
        self._weights, self._ranks, self._leaves = list(weights), ranks, leaves
        self._root = (0, lanes)
        self._nodes = [forest(self._root, block(lanes, rank, ranks.size)) for rank in range(ranks.size)]
        self._buckets = buckets_of(self._weights)
        self._of = {number: at for at, bucket in enumerate(self._buckets) for number in bucket}
        self._pool = ThreadPoolExecutor(1, "exchange", torch.set_num_threads, (1,))
        self._lock = Lock()
        self._stream = torch.cuda.Stream() if self._weights[0].is_cuda else None
        self._begin(0)

    def _begin(self, expected: int) -> None:
        self._left = [len(bucket) * expected for bucket in self._buckets]
        self._sent: list[Future[Tensor]] = []
        self.absent: set[int] = set()
        """the numbers of the weights that have no gradient on this rank"""

    def start(self, passes: int) -> None:
        """Begin a step; a bucket goes out once `passes` backward passes have made all of its gradients."""
        self._begin(passes)

    def made(self, number: int) -> None:
        """One of the passes has made the gradient of a weight."""
        with self._lock:
            self._left[self._of[number]] -= 1
            while len(self._sent) < len(self._buckets) and self._left[len(self._sent)] == 0:
                self._send()

    def finish(self) -> list[Tensor]:
        """Wait for the sums of all weights; a weight's own may be meaningless where no rank has a gradient of it."""
        with self._lock:
            while len(self._sent) < len(self._buckets):
                self._send()
        sums: dict[int, Tensor] = {}
        for bucket, sent in zip(self._buckets, self._sent, strict=True):
            flat, start = sent.result(), 0
            for number in bucket:
                weight = self._weights[number]
                sums[number] = flat[start : start + weight.numel()].view_as(weight)
                start += weight.numel()
        if self._stream is not None:
            torch.cuda.current_stream().wait_stream(self._stream)
        return [sums[number] for number in range(len(self._weights))]

    def _send(self) -> None:
        ready = torch.cuda.current_stream().record_event() if self._stream is not None else None
        self._sent.append(self._pool.submit(self._work, self._buckets[len(self._sent)], ready))

    def _work(self, bucket: Sequence[int], ready: Any) -> Tensor:
        with self._beside(ready), torch.no_grad():
            return self._exchange(self._own_sums(bucket))

    def _beside(self, ready: Any) -> AbstractContextManager[Any]:
        """On a GPU, work in a stream of its own, once the gradients are there."""
        if self._stream is None:
            return nullcontext()
        torch.cuda.set_device(self._weights[0].device)
        self._stream.wait_event(ready)
        return torch.cuda.stream(self._stream)

    def _own_sums(self, bucket: Sequence[int]) -> Tensor:
        """The sums of this rank's nodes, one row each, padded so that it can be cut into a slice for each rank."""
        nodes, like = self._nodes[self._ranks.rank], self._weights[bucket[0]]
        size = sum(self._weights[number].numel() for number in bucket)
        rows = like.new_empty(len(nodes), -(-size // self._ranks.size) * self._ranks.size)
        rows[:, size:] = -0.0
        start = 0
        for number in bucket:
            end, found = start + self._weights[number].numel(), self._leaves(number)
            sums = [tree_sum(node, found, add_present) for node in nodes]
            for row, total in zip(rows, sums, strict=True):
                row[start:end].fill_(-0.0) if total is None else row[start:end].copy_(total.reshape(-1))
            if all(total is None for total in sums):
                self.absent.add(number)
            start = end
        return rows

    def _exchange(self, rows: Tensor) -> Tensor:
        size, counts = self._ranks.size, [len(nodes) for nodes in self._nodes]
        width = rows.shape[1] // size
        sent = rows.view(len(rows), size, width).transpose(0, 1).contiguous().view(-1)
        received = sent.new_empty(sum(counts) * width)
        with lost_ranks_named():
            dist.all_to_all_single(received, sent, [count * width for count in counts], [len(rows) * width] * size)
            nodes = [node for own in self._nodes for node in own]
            given = dict(zip(nodes, received.view(-1, width), strict=True))
            total = tree_sum(self._root, given, lambda left, right: left.add_(right))
            whole = sent.new_empty(size * width)
            dist.all_gather_single(whole, total.contiguous())
        return whole


def add_present(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    """left + right, in the memory of left; an absent one adds nothing."""
    if left is None or right is None:
        return right if left is None else left
    return left.add_(right)


def buckets_of(weights: Sequence[Tensor]) -> list[list[int]]:
    """The numbers of the weights that are sent together: the last first, of one type, up to a size."""
    buckets: list[list[int]] = []
    held = 0
    for number in reversed(range(len(weights))):
        weight = weights[number]
        fits = buckets and weights[buckets[-1][0]].dtype == weight.dtype and held + weight.nbytes <= BUCKET
        if not fits:
            buckets.append([])
            held = 0
        buckets[-1].append(number)
        held += weight.nbytes
    return buckets
