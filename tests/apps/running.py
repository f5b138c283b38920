"""Commands as tests call them: small settings, what came of a call, and processes of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = {
    "subwords.kind": "word",
    "subwords.sharing": "joint",
    "batches.tokens": 512,
    "model.width": 32,
    "model.embedding": 32,
    "model.dropout": 0.0,
    "training.steps": 90,
    "training.validate_every": 45,
    "training.checkpoint_every": 45,
    "training.average": 1,
    "training.optimizer.learning_rate": 0.02,
    "training.schedule.warmup": 10,
    "training.schedule.steps": 1500,  # so few steps learn most at a high rate
}
SMALL_LM = {
    "subwords.kind": "word",
    "streams.rows": 8,
    "streams.length": 32,
    "model.layers": 1,
    "model.width": 32,
    "model.heads": 2,
    "model.positions": "learned(512)",
    "training.steps": 20,
    "training.validate_every": 20,
    "training.schedule.warmup": 5,
    "training.schedule.steps": 1000,
}


def changes(settings: dict[str, object], **others: object) -> list[str]:
    """The settings as options of the command line; those of `others` are in [training]."""
    chosen = settings | {f"training.{name}": value for name, value in others.items()}
    return [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it printed."""
        assert self.code == 0, self.err
        return self.out.splitlines()

    @property
    def sentence(self) -> str:
        """Why it refused: one sentence, below nothing but signs of progress."""
        *before, last = self.err.splitlines()
        assert all(line.endswith("…") for line in before), self.err
        assert last.startswith("regard: "), self.err
        return last.removeprefix("regard: ")


Run = Callable[..., Done]


def start(*arguments: object, **settings: object) -> "subprocess.Popen[str]":
    """A command line as a process of its own, with pipes."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    options: dict = {"text": True, "encoding": "utf-8", "env": environment} | pipes | settings
    return subprocess.Popen(command, **options)
