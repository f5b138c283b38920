"""Trains a tiny Transformer with dropout in several numbers of ranks, and killed in between; fails if bytes differ.

Arguments: a folder, the number of steps, then for each optimizer its name, the numbers of ranks such as 124, and how
often a rank is killed at a random moment, to go on with another number of ranks: adam 1234 0 muon 13 2.
"""

import hashlib
import os
import random
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.base.joining import joined_ranks
from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact
from regard.runs.folder import RunFolder
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon
from regard.training.progress import Silent, StepReport
from regard.training.trainer import Trainer
from tests.training import examples
from tests.training.together import together, warm

LANES = 4
OPTIMIZERS = {"adam": Adam(learning_rate=0.01, weight_decay=0.01), "muon": Muon(learning_rate=0.01)}


class Killing(Silent):
    """Kills its own process after a step, or goes on."""

    def __init__(self, step: int | None) -> None:
        self.step = step

    def stepped(self, report: StepReport) -> None:
        if report.step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def train(folder: Path, steps: int, optimizer: str, kill: tuple[int, int] | None = None, **changes: Any) -> None:
    """One rank's training; `kill` is the rank and the step after which it is killed."""
    torch.manual_seed(1)
    design = Transformer(encoder_layers=1, decoder_layers=1, width=16, feedforward=32, heads=2, dropout=0.3)
    model = design.build(examples.SIZES)
    settings: dict[str, Any] = {"steps": steps, "lanes": LANES, "metric": "loss", "accumulate": 2, "clip": 0.5}
    with joined_ranks() as ranks:
        Trainer(
            model,
            examples.Made(),
            examples.settings(**settings | {"optimizer": OPTIMIZERS[optimizer]} | changes),
            examples.run_folder(folder),
            objective=examples.measured(),
            validate=examples.validating(examples.batch(99, 0), examples.batch(99, 1), examples.batch(99, 2)),
            progress=Killing(kill[1] if kill and kill[0] == ranks.rank else None),
            artifact=Artifact(config={"model": {"name": "tiny"}}, task="translate", sizes={}),
            ranks=ranks,
        ).run()


def result(folder: Path, steps: int) -> list[str]:
    """The hashes of the last checkpoint and of the model, and the log without its times."""
    run = RunFolder(folder)
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (run.checkpoints.path(steps), run.model)]
    log = [{key: value for key, value in entry.items() if "second" not in key} for entry in run.log.entries()]
    return [*hashes, str(log)]


def killed(folder: Path, steps: int, optimizer: str, kills: int, sizes: list[int]) -> None:
    """Train on to the end; a random rank of a random number of ranks is killed at random steps before."""
    draw = random.Random(7)
    at = 0
    for left in range(kills, 0, -1):
        size = draw.choice(sizes)
        rank, at = draw.randrange(size), draw.randint(at + 1, max(at + 1, steps - left))
        codes = together(partial(train, folder, steps, optimizer, (rank, at)), size)
        if codes[rank] != -signal.SIGKILL:
            raise SystemExit(f"rank {rank} of {size} was to be killed after step {at}, but all ended with {codes}")
        kept = RunFolder(folder).checkpoints.steps()
        at = kept[-1] if kept else 0
    codes = together(partial(train, folder, steps, optimizer), sizes[-1])
    if any(codes):
        raise SystemExit(f"{optimizer}: the last life ended with {codes}")


def main(home: Path, optimizer: str, steps: int, sizes: list[int], kills: int) -> None:
    """Compare all with the first number of ranks."""
    expected: list[str] = []
    for size in sizes:
        folder = home / f"{optimizer}-{size}"
        codes = together(partial(train, folder, steps, optimizer), size)
        if any(codes):
            raise SystemExit(f"{optimizer}, {size} ranks: ended with {codes}")
        expected = expected or result(folder, steps)
        if result(folder, steps) != expected:
            raise SystemExit(f"{optimizer}: other bytes in {size} ranks than in {sizes[0]}")
    if kills:
        killed(home / f"{optimizer}-killed", steps, optimizer, kills, sizes)
        if result(home / f"{optimizer}-killed", steps) != expected:
            raise SystemExit(f"{optimizer}, killed {kills} times: other bytes than undisturbed")
    sys.stdout.write(f"{optimizer}: the same bytes {expected[0][:12]}\n")


if __name__ == "__main__":
    warm()
    train(Path(sys.argv[1]) / "warm", 1, "adam")
    for name, ranks, kills in zip(*(sys.argv[3 + at :: 3] for at in range(3)), strict=True):
        main(Path(sys.argv[1]), name, int(sys.argv[2]), list(map(int, ranks)), int(kills))
