"""A few seconds of training, to know what the whole will take."""

import resource
import sys
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from regard.apps.preparation import Prepared
from regard.data.loader import Loader
from regard.data.pairs import Batch
from regard.data.plan import BatchPosition
from regard.training.lanes import Lanes
from regard.training.optimizer import set_rate, take_step


@dataclass(frozen=True)
class Rehearsal:
    """What was measured, and what follows for an epoch."""

    weights: int
    tokens_a_second: float
    steps_an_epoch: int
    seconds_an_epoch: float
    padding: float
    memory: float
    """bytes, the most that the process has held"""
    flops_an_epoch: float


def rehearse(prepared: Prepared, seconds: float, device: str = "cpu") -> Rehearsal:
    """Train for some seconds on batches from all over an epoch; nothing is kept of it."""
    model = prepared.model().to(device).train()
    training = prepared.settings.training
    optimizers = training.optimizer.build(model)
    set_rate(optimizers, 1e-9)
    objective, lanes = training.objective(), Lanes(model, training.lanes)
    items = list(_spread(prepared, 64))
    most = max(items, key=_padded)
    real = sum(item.tokens for item in items) / sum(_padded(item) for item in items)

    def step(item: Any) -> None:
        lanes.backward(objective, item.to(device), item.tokens, seed=1)
        take_step(optimizers)

    step(most)
    step(items[0])
    tokens, began, at = 0, time.monotonic(), 0
    while time.monotonic() - began < seconds:
        step(items[at % len(items)])
        tokens += items[at % len(items)].tokens
        at += 1
    speed = tokens / (time.monotonic() - began)
    total, batches = _epoch(prepared)
    source = int(prepared.store.sides[0].lengths.sum()) if len(prepared.store.sides) == 2 else 0
    return Rehearsal(
        weights=sum(weight.numel() for weight in model.parameters()),
        tokens_a_second=speed,
        steps_an_epoch=max(1, batches // training.accumulate),
        seconds_an_epoch=total / speed,
        padding=1 - real,
        memory=_peak(),
        flops_an_epoch=prepared.settings.model.training_flops(source, total, prepared.artifact.sizes),
    )


def _spread(prepared: Prepared, count: int) -> Any:
    """Items from all over the first epoch."""
    _, batches = _epoch(prepared)
    places = range(0, batches, max(1, batches // count))
    return (prepared.batches.at(BatchPosition(index=index)) for index in islice(places, count))


def _epoch(prepared: Prepared) -> tuple[int, int]:
    """The target tokens and the batches of an epoch."""
    if isinstance(prepared.batches, Loader):
        plan = prepared.batches.batches.plan(0)
        lengths = prepared.store.sides[-1].lengths
        return int(sum(lengths[chosen].sum() for chosen in plan)), len(plan)
    return int(prepared.store.sides[0].lengths.sum()), len(prepared.batches)


def _padded(item: Any) -> int:
    return int(item.target_out.numel() if isinstance(item, Batch) else item.target.numel())


def _peak() -> float:
    """The most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(held if sys.platform == "darwin" else held * 1024)
