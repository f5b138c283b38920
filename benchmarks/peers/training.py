"""What training drivers share: the sizes of Transformer-Tiny, the batches, the loss, the optimizer, the turns."""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from driver import answer, requests
from torch import Tensor, nn

LAYERS, WIDTH, FEEDFORWARD, HEADS, DROPOUT = 4, 128, 256, 4, 0.3
SMOOTHING, RATE, BETAS, EPSILON, CLIP = 0.1, 1e-3, (0.9, 0.98), 1e-9, 1.0
LONGEST = 256
PAD = 0


@dataclass(frozen=True)
class Batch:
    """Pairs padded with 0; `count` is that of the real ones of the target."""

    source: Tensor
    source_lengths: Tensor
    target_in: Tensor
    target_out: Tensor
    target_lengths: Tensor
    count: int


def read_batches(path: str) -> tuple[list[Batch], int]:
    """The batches of a file, and how many subwords there are."""
    with np.load(path) as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file.files}
    names = ("source", "source_lengths", "target_in", "target_out", "target_lengths")
    count = sum(name.startswith("source_lengths/") for name in arrays)
    found = [[arrays[f"{name}/{at}"] for name in names] for at in range(count)]
    return [Batch(*tensors, count=int(tensors[-1].sum())) for tensors in found], int(arrays["vocabulary"])


def smoothed(logits: Tensor, targets: Tensor) -> Tensor:
    """The label-smoothed cross-entropy of the real tokens, their mean."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)


def contest(build: Callable[[int], nn.Module], loss_of: Callable[[nn.Module, Batch], Tensor]) -> None:
    """Train a model in the plain way, so many steps at a time, whenever it is asked to.

    With `bfloat16` on the command line, its products are computed in that (autocast).
    """
    short = "bfloat16" in sys.argv[2:]
    batches, vocabulary = read_batches(sys.argv[1])
    torch.manual_seed(1)
    model = build(vocabulary).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=BETAS, eps=EPSILON, fused=True)

    def step(batch: Batch) -> float:
        with torch.autocast("cpu", torch.bfloat16, enabled=short):
            loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    turns(batches, step)


def turns(batches: list[Batch], step: Callable[[Batch], float]) -> None:
    """Answer each request for `count` steps with the seconds they took, the tokens and the losses."""
    endless = itertools.cycle(batches)
    for request in requests():
        chosen = [next(endless) for _ in range(request["count"])]
        clock = Clock()
        losses = [step(batch) for batch in chosen]
        answer(**clock.read(), tokens=sum(batch.count for batch in chosen), losses=losses)


class Clock:
    """Counts from when it is made: seconds that passed, and seconds that the processors worked for this process."""

    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, float]:
        """Both counts."""
        return {"seconds": time.perf_counter() - self._began, "worked": time.process_time() - self._worked}


class Gate:
    """The same for a loop that belongs to somebody else: it is held after each turn, until the next is asked for."""

    def __init__(self) -> None:
        self._requests = requests()
        self._hold()

    def passed(self, tokens: int, loss: float) -> None:
        """Called by the loop after each step."""
        self._left -= 1
        self._tokens += tokens
        self._losses.append(loss)
        if not self._left:
            answer(**self._clock.read(), tokens=self._tokens, losses=self._losses)
            self._hold()

    def _hold(self) -> None:
        self._left = next(self._requests)["count"]
        self._tokens, self._losses = 0, list[float]()
        self._clock = Clock()


def sinusoids(length: int = LONGEST, width: int = WIDTH) -> Tensor:
    """p(i, 2j) = sin(i / 10000^(2j/d)), p(i, 2j+1) = cos(i / 10000^(2j/d)), [length, width]."""
    angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)


def walk(batches: list[Batch]) -> Iterator[Batch]:
    """The batches without end."""
    return itertools.cycle(batches)
