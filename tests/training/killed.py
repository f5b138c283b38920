"""Trains in a folder, life after life; each but the last is killed by SIGKILL at a moment that an argument names.

step:N is when step N was made, sync:N the N-th time that something is forced to disk (so, inside every kind of write),
log:N the N-th log entry, half of it written, valid:N the N-th validation.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

import regard.base.files
from regard.runs.artifact import Artifact
from regard.runs.folder import open_run
from regard.runs.log import Log
from regard.training.progress import Progress
from regard.training.trainer import Trainer
from tests.training import examples


class Killer(Progress):
    """Ends the process once something has happened so often."""

    def __init__(self, moment: str) -> None:
        self.what, _, count = moment.partition(":")
        self.left = int(count or 0)

    def happened(self, what: str) -> bool:
        """Whether this is the moment."""
        self.left -= what == self.what
        return what == self.what and self.left == 0

    def kill(self) -> None:
        """Leave no time for anything."""
        os.kill(os.getpid(), signal.SIGKILL)

    def stepped(self, report: Any) -> None:
        if self.what == "step" and report.step == self.left:
            self.kill()

    def note(self, text: str) -> None:
        raise RuntimeError(text)


def live(folder: Path, moment: str) -> None:
    """Train until the moment comes."""
    killer = Killer(moment)
    sync, append, validate = os.fsync, Log.append, examples.validation()

    def killing_sync(handle: int) -> None:
        killer.kill() if killer.happened("sync") else sync(handle)

    def killing_append(log: Log, kind: str, step: int, **values: Any) -> None:
        if killer.happened("log"):
            with log.path.open("ab") as file:
                file.write(b'{"kind": "train", "st')
            killer.kill()
        append(log, kind, step, **values)

    def killing_validation(model: Any) -> Any:
        metrics = validate(model)
        if killer.happened("valid"):
            killer.kill()
        return metrics

    regard.base.files.os.fsync = killing_sync
    Log.append = killing_append  # type: ignore[method-assign]
    with open_run(folder, "steps = 30") as run:
        Trainer(
            examples.tiny(),
            examples.Made(),
            examples.settings(),
            run,
            objective=examples.measured(),
            validate=killing_validation,
            progress=killer,
            artifact=Artifact(config={"model": {"name": "tiny"}}, task="translate", sizes={}),
        ).run()


def main(folder: Path, moments: list[str]) -> None:
    """One child process for every life; what torch imports, also at an optimizer's first step, is imported once."""
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.ones(1)
    torch.optim.AdamW([weight], fused=True).step()
    for moment in [*moments, ""]:
        child = os.fork()
        if not child:
            live(folder, moment)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ending = -signal.SIGKILL if moment else 0
        if os.waitstatus_to_exitcode(status) != ending:
            raise SystemExit(f"{moment or 'the last life'}: ended with {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
