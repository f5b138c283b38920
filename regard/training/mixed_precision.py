"""Mixed precision: the matrix products of a step in bfloat16, its weights, sums and updates in float32.

bfloat16 has the range of float32 and 8 of its 24 bits of precision. A GPU that has it multiplies several times as fast
with it. On a CPU that depends on the processor, and on how much of a step is products: so both are tried on a batch
before the first step, and the faster one is taken if its gradient points the same way. What was measured is kept in the
cache folder, so that the same run on the same machine is computed alike, and what was chosen in each checkpoint.
Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019, https://arxiv.org/abs/1905.12322
"""

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from regard.base import processor
from regard.base.errors import RegardError
from regard.base.files import cache_folder, write_bytes
from regard.base.ranks import ALONE, Ranks
from regard.data.item import Item
from regard.training.lanes import Lanes, looks_at_batches

_GAIN = 1.1
"""how many times as fast bfloat16 has to be"""
_AGREEMENT = 0.95
"""the least cosine between both gradients"""
_SMALLEST = 5e8
"""weights × size of a batch; with less, a trial would take longer than it saves"""
_ROUNDS = 2
_SECONDS = 10.0
"""a trial that has taken so long has no further round"""
_KEPT = 200
"""how many trials the cache holds"""


@dataclass(frozen=True)
class PrecisionTrial:
    """The seconds of a forward and backward pass in each precision, and the cosine between both gradients."""

    float32: float
    bfloat16: float
    agreement: float

    @property
    def pays(self) -> bool:
        """Whether bfloat16 is to be taken."""
        return self.float32 >= _GAIN * self.bfloat16 and self.agreement >= _AGREEMENT

    def __str__(self) -> str:
        if not self.float32:
            return "matrix products in float32 (training.precision): a part of the model does not compute in bfloat16"
        times = f"a batch takes {1e3 * self.float32:,.0f} ms in float32, {1e3 * self.bfloat16:,.0f} ms in bfloat16"
        return f"matrix products in {'bfloat16' if self.pays else 'float32'} (training.precision): {times}"


def mixed(device: torch.device, short: bool) -> AbstractContextManager[Any]:
    """A context in which matrix products are computed in bfloat16, if `short`."""
    return torch.autocast(device.type, torch.bfloat16) if short else nullcontext()


def is_faster_short(
    model: nn.Module,
    item: Item,
    lanes: Lanes,
    backward: Callable[[bool], Any],
    say: Callable[[str], None],
    ranks: Ranks = ALONE,
) -> bool:
    """Whether bfloat16 is to be taken on this machine, by an earlier trial or a new one, on which all ranks agree.

    `backward` makes the gradients of a batch, given whether products are in bfloat16.
    """
    if not all(ranks.gather(_is_worth_trying(model, item))):
        return False
    cache, key = PrecisionCache(), _key(model, item, lanes)
    found = cache.find(key) if ranks.first else None
    told = ranks.agree(None if found is None else asdict(found))
    if told is None:
        told = ranks.agree(asdict(_tried(backward, list(model.parameters()))))
        if ranks.first:
            cache.keep(key, PrecisionTrial(**told))
    trial = PrecisionTrial(**told)
    say(str(trial))
    return trial.pays


def _tried(backward: Callable[[bool], Any], weights: Sequence[nn.Parameter]) -> PrecisionTrial:
    """The trial; one that never pays where a part of the model does not compute in bfloat16, which an error says."""
    try:
        return try_precisions(backward, weights)
    except (RegardError, RuntimeError):
        for weight in weights:
            weight.grad = None
        return PrecisionTrial(0.0, 0.0, 0.0)


def try_precisions(
    backward: Callable[[bool], Any], weights: Sequence[nn.Parameter], clock: Callable[[], float] = time.perf_counter
) -> PrecisionTrial:
    """Time both precisions in turns. The first round warms up, and its gradients are compared."""
    gradients: dict[bool, list[Tensor | None]] = {}
    seconds = {False: math.inf, True: math.inf}
    began = clock()
    for number in range(1 + _ROUNDS):
        for short in (False, True):
            before = clock()
            backward(short)
            spent = clock() - before
            if number or spent > _SECONDS:
                seconds[short] = min(seconds[short], spent)
            gradients.setdefault(short, [weight.grad for weight in weights])
            for weight in weights:
                weight.grad = None
        if clock() - began > _SECONDS and max(seconds.values()) < math.inf:
            break
    return PrecisionTrial(seconds[False], seconds[True], _cosine(gradients[False], gradients[True]))


def _is_worth_trying(model: nn.Module, item: Item) -> bool:
    """Whether bfloat16 may be faster on this CPU: it has such products, and a step is large."""
    weights = sum(weight.numel() for weight in model.parameters() if weight.requires_grad and weight.dim() > 1)
    if weights * item.size < _SMALLEST or looks_at_batches(model):  # running statistics would count the trial
        return False
    return processor.announces_bfloat16() and processor.refusal("bfloat16") is None


def _cosine(some: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> float:
    """The cosine between two gradients, each in parts; 0 where it is not defined."""
    pairs = [(a.flatten(), b.flatten()) for a, b in zip(some, others, strict=True) if a is not None and b is not None]
    product, left, right = (
        sum(float(torch.dot(both[at], both[to])) for both in pairs) for at, to in ((0, 1), (0, 0), (1, 1))
    )
    norms = math.sqrt(left * right) if left * right >= 0 else 0.0
    return product / norms if norms and math.isfinite(product / norms) else 0.0


class PrecisionCache:
    """The trials on this machine, by what was tried."""

    def __init__(self) -> None:
        self.path = cache_folder() / f"precision-{processor.identity()}.json"

    def find(self, key: str) -> PrecisionTrial | None:
        """An earlier trial."""
        return self._read().get(key)

    def keep(self, key: str, trial: PrecisionTrial) -> None:
        """Add a trial, if the cache can be written."""
        newest = dict([*self._read().items(), (key, trial)][-_KEPT:])
        with suppress(OSError, RuntimeError, RegardError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(self.path, msgspec.json.format(msgspec.json.encode(newest)) + b"\n")

    def _read(self) -> dict[str, PrecisionTrial]:
        with suppress(OSError, RuntimeError, msgspec.MsgspecError):
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, PrecisionTrial])
        return {}


def _key(model: nn.Module, item: Item, lanes: Lanes) -> str:
    """What a trial depends on beside the machine: the model, the size of the batch, lanes and threads."""
    shapes = [(name, list(weight.shape), weight.requires_grad) for name, weight in model.named_parameters()]
    parts = [type(part).__qualname__ for part in model.modules()]
    said = msgspec.json.encode([shapes, parts, item.size, lanes.count, lanes.threads])
    return hashlib.sha256(said).hexdigest()[:16]
