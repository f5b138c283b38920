"""Starts ranks that fail, each in another way, and prints what they said and how they ended, as JSON.

Every rank is a fork of this process that runs the command line, as torchrun would start it.
"""

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import regard.base.files
import regard.tasks.ranked
from regard.apps.cli import main as command_line
from regard.runs.folder import RunFolder
from regard.training.progress import StepReport
from regard.training.watch import Watch
from tests.tasks.killed import settings
from tests.training.together import Started, warm


class Scene:
    """Ranks in a folder of their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir()
        (home / "run.toml").write_text(settings(home).to_toml(), encoding="utf-8")

    def play(
        self, ranks: int, before: Callable[[int], Any] = lambda rank: None, apart: bool = False, *more: str, **told: str
    ) -> dict[str, Any]:
        """Start the ranks, after some preparation in each; `apart`, rank 1 has a disk of its own."""

        def command(rank: int) -> list[str]:
            before(rank)
            runs = self.home / (f"runs-{rank}" if apart else "runs")
            data = self.home / ("other" if apart and rank else "")
            return ["train", str(self.home / "run.toml"), "--runs", str(runs), "--data", str(data), *more]

        return self.start(ranks, command, **told)

    def start(self, ranks: int, command: Callable[[int], list[str]], **told: str) -> dict[str, Any]:
        """Run a command in ranks, each with what it says in a file."""

        def work() -> int:
            rank = int(os.environ["RANK"])
            file = (self.home / f"said-{rank}").open("wb")
            os.dup2(file.fileno(), 2)
            os.dup2(file.fileno(), 1)
            return command_line(command(rank))

        codes = Started(work, ranks, **told).codes()
        texts = [(self.home / f"said-{rank}").read_text(encoding="utf-8") for rank in range(ranks)]
        said = [line for text in texts for line in text.splitlines() if line.startswith("regard: ")]
        return {"codes": codes, "said": said, "trace": any("Traceback" in text for text in texts)}


def other_data(home: Path) -> Any:
    scene = Scene(home)
    (home / "other").mkdir()
    for file in home.glob("*.??"):
        text = file.read_text(encoding="utf-8")
        (home / "other" / file.name).write_text(text.replace("x", "y"), encoding="utf-8")
    return scene.play(2, apart=True)


def other_version(home: Path) -> Any:
    def older(rank: int) -> None:
        if rank:
            regard.tasks.ranked.version = lambda name: "0.0.1"  # type: ignore[attr-defined]

    return Scene(home).play(2, older)


def too_many_ranks(home: Path) -> Any:
    return Scene(home).play(3, lambda rank: None, False, "--set", "training.lanes=2")


def port_in_use(home: Path) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        return Scene(home).play(1, MASTER_PORT=port, WORLD_SIZE="2", TORCHELASTIC_USE_AGENT_STORE="False")


def absent_rank(home: Path) -> Any:
    return Scene(home).play(2, WORLD_SIZE="4", REGARD_WAIT="1")


def full_disk(home: Path) -> Any:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fill(rank: int) -> None:
        if not rank:
            regard.base.files.os.fsync = full

    return Scene(home).play(2, fill)


def full_disk_of_rank_1(home: Path) -> Any:
    """Ranks that share the weights each write their rows; the disk of one is full at its second checkpoint."""
    synced = 0

    def fills(handle: int) -> None:
        nonlocal synced
        synced += 1
        if synced > 2:  # a file and its folder
            raise OSError(errno.ENOSPC, "No space left on device")

    def fill(rank: int) -> None:
        if rank:
            regard.base.files.os.fsync = fills

    more = ("training.distribution=shards", "training.lanes=2", "training.steps=3", "training.validate_every=50")
    found = Scene(home).play(2, fill, False, *(word for one in more for word in ("--set", one)))
    said = [line for line in found["said"] if "training.distribution: shards are summed" not in line]  # a remark
    return found | {"said": said, "kept": RunFolder(next((home / "runs").iterdir())).checkpoints.steps()}


def no_gpu(home: Path) -> Any:
    return Scene(home).play(2, lambda rank: None, False, "--device", "cuda")


def asked_to_stop(home: Path) -> Any:
    """Rank 1 alone gets the signal; then they go on with three ranks."""
    stepped = Watch.stepped

    def stop(watch: Watch, report: StepReport) -> None:
        stepped(watch, report)
        if report.step == 2:
            signal.raise_signal(signal.SIGTERM)

    def first(rank: int) -> None:
        if not rank:
            Watch.stepped = stop  # type: ignore[method-assign]

    scene, more = Scene(home), ("--set", "training.lanes=3", "--set", "training.steps=4", "--set")
    found = scene.play(2, first, False, *more, "training.checkpoint_every=50")
    folder = RunFolder(next((home / "runs").iterdir()))
    kept = folder.checkpoints.steps()
    after = scene.play(3, lambda rank: None, False, *more, "training.checkpoint_every=50")
    return found | {"kept": kept, "after": after["codes"], "model": folder.model.exists(), "used": used(scene, folder)}


def used(scene: Scene, folder: RunFolder) -> list[Any]:
    """Whether three ranks translate and evaluate as one process does."""
    lines = [*(scene.home / "train.en").read_text(encoding="utf-8").splitlines(), "", "xxx"] * 3
    (scene.home / "input.txt").write_text("\n".join(lines), encoding="utf-8")
    tests = [str(scene.home / f"train.{side}") for side in ("en", "de")]
    found: list[Any] = []
    for ranks in (1, 3):
        out, score = scene.home / f"out-{ranks}", scene.home / f"score-{ranks}"
        translate = ["translate", str(folder.path), str(scene.home / "input.txt"), "-o", str(out)]
        found += scene.start(ranks, lambda _, command=translate: command)["codes"]  # type: ignore[misc]
        evaluate = ["evaluate", str(folder.path), *tests, "--json", "--samples", "0"]
        found += scene.start(ranks, lambda _, command=evaluate: command)["codes"]  # type: ignore[misc]
        score.write_bytes(b"".join((scene.home / f"said-{rank}").read_bytes() for rank in range(ranks)))
    for name in ("out", "score"):
        one, other = ((scene.home / f"{name}-{ranks}").read_text(encoding="utf-8") for ranks in (1, 3))
        found.append(one == other and bool(one))
    return [*found, scene.start(2, lambda _: ["translate", str(folder.path)])["said"]]


SCENES = (
    other_data,
    other_version,
    too_many_ranks,
    port_in_use,
    absent_rank,
    full_disk,
    full_disk_of_rank_1,
    no_gpu,
    asked_to_stop,
)


def main(home: Path, names: list[str]) -> None:
    """Play the scenes."""
    warm()
    chosen = [scene for scene in SCENES if not names or scene.__name__ in names]
    sys.stdout.write(json.dumps({scene.__name__: scene(home / scene.__name__) for scene in chosen}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
