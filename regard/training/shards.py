"""Sharded training (FSDP2): every rank holds a part of each weight, of its gradient and of the optimizer's moments.

For models that do not fit one device. The weights of a layer are gathered just before it computes and given up after;
gradients are summed and scattered. What a rank holds for good shrinks with the number of ranks: from about 16 bytes a
weight to 16 / ranks. The sums are torch's own, whose order depends on the number of ranks: resumed at another number, a
run goes on correctly but not to the same bits. Rajbhandari et al., ZeRO, 2019, https://arxiv.org/abs/1910.02054;
Zhao et al., PyTorch FSDP, 2023, https://arxiv.org/abs/2304.11277
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from regard.base.chance import drawing
from regard.base.errors import ConfigError
from regard.base.ranks import Ranks
from regard.data.item import Item
from regard.layers.block import Block
from regard.runs.artifact import load_weights, split_ties
from regard.training.lanes import TOTAL, Sums, added, lane_seed
from regard.training.loss import Objective
from regard.training.sharded_tensor import set_rows, whole_tensor
from regard.training.tree import block


class _Step(nn.Module):
    """A whole loss as one forward pass, before which the weights outside of layers are gathered."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, objective: Objective, item: Item) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss and its parts."""
        loss = objective(self.model, item)
        return loss.total, dict(loss.parts)


class Shards:
    """A model whose weights are shared out among ranks; it computes lanes one after the other."""

    def __init__(self, model: nn.Module, count: int | None, ranks: Ranks, short: bool) -> None:
        self.count = count or ranks.size
        if self.count % ranks.size:
            raise ConfigError(
                f"training.lanes: must be a multiple of the {ranks.size} ranks that share the weights, "
                f"but is {self.count}"
            )
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

        self.model, self._ranks = model, ranks
        self._numbers = range(*block(self.count, ranks.rank, ranks.size))
        self.threads = torch.get_num_threads()
        """the threads that compute one lane"""
        once, self.ties = split_ties(model.state_dict())
        self._names = list(once)
        self._plain = deepcopy(model).to("meta")
        device = next(model.parameters()).device
        mesh = init_device_mesh(device.type, (ranks.size,))
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if short else MixedPrecisionPolicy()
        self._step = _Step(model)
        for part in model.modules():
            if isinstance(part, Block):
                fully_shard(part, mesh=mesh, mp_policy=policy)
        fully_shard(self._step, mesh=mesh, mp_policy=policy)
        for unit in (part for part in self._step.modules() if isinstance(part, FSDPModule)):
            unit.set_gradient_divide_factor(1.0)  # sums, not means: the loss is divided by the count of the whole batch
            unit.set_force_sum_reduction_for_comms(device.type == "cpu")  # which is all that gloo has

    def backward(self, objective: Objective, items: Sequence[Item], count: int, seeds: Sequence[int]) -> Sums:
        """Accumulate the gradients of loss / count over batches, one seed each; returns the sums of the losses."""
        losses: list[list[Sums]] = []
        for item, seed in zip(items, seeds, strict=True):
            shares = item.shares(self.count)
            losses.append([self._lane(objective, shares, number, seed, count) for number in self._numbers])
        ranks: list[list[list[Sums]]] = self._ranks.gather(losses)
        lanes = [[lane for rank in ranks for lane in rank[at] if lane] for at in range(len(items))]
        return added([added(own) for own in lanes])

    def _lane(self, objective: Objective, shares: Sequence[Item], number: int, seed: int, count: int) -> Sums:
        """The loss of a lane. One without a share computes another's for nothing: all ranks gather weights together."""
        idle = number >= len(shares)
        torch.manual_seed(lane_seed(seed, number))
        with drawing(seed, number):
            total, parts = self._step(objective, shares[0 if idle else number])
            (total * (0.0 if idle else 1 / count)).backward()
        found = {TOTAL: total, **parts}
        return {} if idle else {name: part.detach().double().item() for name, part in found.items()}

    @contextmanager
    def lane_threads(self) -> Iterator[None]:
        """Inside, as many threads as one lane has."""
        yield

    def weights(self) -> dict[str, Tensor]:
        """All weights, gathered from the ranks, on the CPU; tied weights appear once. All ranks must ask."""
        return {name: whole_tensor(tensor.detach()).cpu() for name, tensor in self.named().items()}

    def named(self) -> dict[str, Tensor]:
        """The weights by name, of which this rank holds some rows; tied weights appear once."""
        found = self.model.state_dict()
        return {name: found[name] for name in self._names}

    def set_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Copy this rank's part of some weights into the model."""
        for name, tensor in self.named().items():
            set_rows(tensor, weights[name])

    @contextmanager
    def whole(self, weights: Mapping[str, Tensor] | None = None) -> Iterator[Any]:
        """A plain model with all weights (or with those given), for as long as the block lasts."""
        found = dict(self.weights() if weights is None else weights)
        device = next(self.model.parameters()).device
        plain = deepcopy(self._plain).to_empty(device=device)
        for name, buffer in self.model.named_buffers():
            plain.get_buffer(name).copy_(buffer)
        load_weights(plain, found | {name: found[first] for name, first in self.ties.items()})
        yield plain
