"""Trains a tiny run once for every file operation that it makes, killed just before it, then trains on to the end.

A file operation is opening for writing, syncing, renaming, truncating, making or deleting, anywhere in the folder of
the run. Every second life must leave the model that an undisturbed run leaves, byte for byte, and nothing unfinished.
Each life is a fork of this process, in which everything is imported and warm, so that one costs milliseconds.
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.tasks.run import Run, run_of
from regard.tasks.start import train_run
from regard.training.progress import Progress

CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}
MODEL = {"name": "seq2seq", "cell": "gru", "width": 4, "embedding": 4, "attention": None}
TRAINING = {"steps": 1, "checkpoint_every": 1, "validate_every": 1, "log_every": 1, "keep": 1, "lanes": 1}


class Operations:
    """Counts the file operations inside a folder; `act` is told the number of each before it happens."""

    def __init__(self) -> None:
        self.folder, self.count = Path("/nowhere"), 0
        self.act: Callable[[int], None] = lambda number: None
        os.fsync = self._synced
        sys.addaudithook(self._heard)

    def watch(self, folder: Path, act: Callable[[int], None]) -> None:
        """Count from 0 in another folder."""
        self.folder, self.count, self.act = folder, 0, act

    def _synced(self, handle: int) -> None:
        """Count and do no more: a process that is killed, unlike a power cut, loses nothing that it has written."""
        self._happens(Path(f"/proc/self/fd/{handle}").readlink())

    def _heard(self, event: str, values: tuple[Any, ...]) -> None:
        writes = event == "open" and values[2] & (os.O_WRONLY | os.O_RDWR)
        if (writes or event in CHANGES) and not isinstance(values[0], int):
            self._happens(Path(os.fsdecode(values[0])))

    def _happens(self, path: Path) -> None:
        if self.folder in (path, *path.parents):
            self.act(self.count)
            self.count += 1


def settings(data: Path) -> Run:
    """A run whose data lies in a folder, written there."""
    for name, lines in (("train", 12), ("dev", 2)):
        for side, words in (("en", "a cat sat"), ("de", "eine Katze saß")):
            text = "".join(f"{words} {'x' * (at % 5)}\n" for at in range(lines))
            (data / f"{name}.{side}").write_text(text, encoding="utf-8")
    return run_of(
        {
            "data": {"train": ["train.en", "train.de"], "dev": ["dev.en", "dev.de"]},
            "subwords": {"kind": "character"},
            "batches": {"tokens": 64},
            "model": MODEL,
            "decoding": {"name": "greedy", "max_length": 2},
            "training": TRAINING,
        },
        "killed",
    )


def life(work: Callable[[], object]) -> int:
    """How a fork of this process ends that does some work."""
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(home: Path) -> None:
    """Kill at every operation, and say how many there were."""
    torch.set_num_threads(1)
    home = home.resolve()
    run, operations = settings(home), Operations()
    operations.watch(home / "whole", lambda number: None)
    train_run(run, home / "whole", home, Progress())
    expected, total = (home / "whole" / "model.safetensors").read_bytes(), operations.count
    for moment in range(total):
        folder = home / f"killed-{moment}"

        def kill(number: int, moment: int = moment) -> None:
            if number == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        train = partial(train_run, run, folder, home, Progress())
        operations.watch(folder, kill)
        if life(train) != -signal.SIGKILL:
            raise SystemExit(f"operation {moment} of {total}: never came")
        operations.watch(folder, lambda number: None)
        if life(train):
            raise SystemExit(f"operation {moment} of {total}: the next start failed")
        if (folder / "model.safetensors").read_bytes() != expected:
            raise SystemExit(f"operation {moment} of {total}: the model is another one")
        if left := [str(path) for path in folder.rglob(".*.tmp")]:
            raise SystemExit(f"operation {moment} of {total}: {left} was left")
    sys.stdout.write(f"{total} of {total}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
