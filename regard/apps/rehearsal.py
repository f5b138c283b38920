"""A few seconds of training, to predict the time and memory of the whole."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from regard.apps.scaling import StepCost
from regard.data.item import Batches, Item
from regard.data.plan import BatchPosition
from regard.tasks.start import Started
from regard.training.lanes import Lanes
from regard.training.loss import Loss
from regard.training.mixed_precision import is_faster_short, mixed
from regard.training.optimizer import set_rate, take_step


@dataclass(frozen=True)
class Rehearsal:
    """The measured speed and memory, and the prediction for an epoch."""

    weights: int
    a_second: float
    """tokens per second, or whatever unit the task counts"""
    steps_an_epoch: int
    seconds_an_epoch: float
    padding: float
    memory: float
    """peak memory of the process in bytes"""
    flops_an_epoch: float | None
    seconds_an_update: float = 0.0
    """seconds that the optimizer takes in a step"""
    gradient_bytes: int = 0
    """bytes of all gradients, which ranks send each other in every step"""

    def cost(self, bandwidth: float) -> StepCost:
        """What a step costs, to predict it on more ranks that exchange so many bytes a second."""
        step = self.seconds_an_epoch / self.steps_an_epoch
        return StepCost(
            compute=max(1e-9, step - self.seconds_an_update),
            update=self.seconds_an_update,
            gradient_bytes=self.gradient_bytes,
            bandwidth=bandwidth,
        )


def rehearse(
    started: Started, seconds: float, device: str = "cpu", say: Callable[[str], None] = lambda text: None
) -> Rehearsal:
    """Train for some seconds on batches spread over an epoch, and discard the result."""
    model = started.model().to(device).train()
    training, prepared = started.run.training, started.prepared
    optimizers = training.optimizer.build(model)
    set_rate(optimizers, 1e-9)
    lanes = Lanes(model, training.lanes)
    items = list(_spread(prepared.train, 64))
    backward = partial(_backward, started, lanes, device)
    short = training.precision == "bfloat16"
    if training.precision == "auto" and device == "cpu":
        short = is_faster_short(model, items[0], lanes, partial(backward, items[0]), say)

    updates: list[float] = []

    def step(item: Item) -> None:
        backward(item, short)
        before = time.monotonic()
        with mixed(torch.device(device), short):
            take_step(optimizers)
        updates.append(time.monotonic() - before)

    step(max(items, key=lambda item: item.size))
    step(items[0])
    done, began, at = 0, time.monotonic(), 0
    while time.monotonic() - began < seconds:
        step(items[at % len(items)])
        done += items[at % len(items)].count
        at += 1
    speed = done / (time.monotonic() - began)
    batches, total = prepared.train.epoch()
    return Rehearsal(
        weights=sum(weight.numel() for weight in model.parameters()),
        a_second=speed,
        steps_an_epoch=max(1, batches // training.accumulate),
        seconds_an_epoch=total / speed,
        padding=1 - sum(item.count for item in items) / sum(item.size for item in items),
        memory=_peak(),
        flops_an_epoch=started.run.task.flops(started.run.model, prepared),
        seconds_an_update=median(updates),
        gradient_bytes=sum(weight.nbytes for weight in model.parameters() if weight.requires_grad),
    )


def _backward(started: Started, lanes: Lanes, device: str, item: Item, short: bool) -> None:
    """Make the gradients of a batch, with products in bfloat16 if `short`."""

    def objective(model: Any, item: Any) -> Loss:
        with mixed(torch.device(device), short):
            return started.run.task.loss(model, item)

    lanes.backward(objective, [item.to(device)], item.count, [1])


def _spread(batches: Batches, count: int) -> Iterator[Item]:
    """Items spread evenly over the first epoch."""
    number, _ = batches.epoch()
    places = range(0, number, max(1, number // count))
    return (batches.at(BatchPosition(index=index)) for index in islice(places, count))


def _peak() -> float:
    """The peak memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(held if sys.platform == "darwin" else held * 1024)
