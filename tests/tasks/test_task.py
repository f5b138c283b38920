"""A newcomer is one model file and one task file; nothing else has to know of it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from regard.tasks.task import Advice

ROOT = Path(__file__).resolve().parents[2]

MODEL = '''
"""ŷ = W x + b, the mean of a table's columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from regard.models.model import Design


@dataclass(frozen=True, kw_only=True)
class Line(Design):
    """A straight line."""

    hidden: int = 4
    needs: ClassVar[tuple[str, ...]] = ("columns",)

    def build(self, sizes: Mapping[str, int]) -> nn.Module:
        (columns,) = self.sizes_from(sizes)
        return nn.Sequential(nn.Linear(columns, self.hidden), nn.Linear(self.hidden, 1))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, 0.0
'''

TASK = '''
"""Regression: numbers in, a number out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from regard.base.files import read_lines
from regard.data.plan import BatchPosition
from regard.metrics.quality import QualityScore
from regard.tasks.task import Evaluation, Prepared, Task
from regard.training.loss import Loss


@dataclass(frozen=True)
class Rows:
    """Numbers, the last of each row being what is asked for."""

    numbers: torch.Tensor

    @property
    def count(self) -> int:
        return len(self.numbers)

    size = count

    def to(self, device: Any) -> "Rows":
        return Rows(self.numbers.to(device))

    def shares(self, count: int) -> list["Rows"]:
        return [Rows(part) for part in self.numbers.tensor_split(count) if len(part)]


@dataclass(frozen=True)
class Table:
    """Batches of eight rows."""

    numbers: torch.Tensor

    def at(self, position: BatchPosition) -> Rows:
        return Rows(self.numbers[8 * position.index : 8 * position.index + 8])

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Rows]]:
        position = position or BatchPosition()
        while True:
            yield position, self.at(position)
            position = position.next(self.epoch()[0])

    def epoch(self) -> tuple[int, int]:
        return -(-len(self.numbers) // 8), len(self.numbers)


@dataclass(frozen=True, kw_only=True)
class Files:
    """Which files."""

    train: tuple[Path, ...]
    dev: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Regress(Task):
    """Learn a number from numbers."""

    unit: ClassVar[str] = "rows"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "mean_error"})
    sizes: ClassVar[tuple[str, ...]] = ("columns",)

    data: Files

    def prepare(self, folder: Path, data: Path, say: Any = print) -> Prepared:
        train, dev = (_read(data / file) for file in (self.data.train[0], self.data.dev[0]))
        return Prepared(sizes={"columns": train.shape[1] - 1}, train=Table(train), dev=[Rows(dev)], summary="some rows")

    def loss(self, model: Any, item: Rows) -> Loss:
        error = model(item.numbers[:, :-1])[:, 0] - item.numbers[:, -1]
        return Loss(error.square().sum(), item.count, {"mean_error": error.detach().abs().sum()})

    @classmethod
    def open(cls, artifacts: Any, models: Any, *, strategy: Any = None, shortlist: bool = False) -> Any:
        return models[0]

    @classmethod
    def evaluate(cls, opened: Any, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        numbers = _read(files[0])
        with torch.no_grad():
            error = (opened(numbers[:, :-1])[:, 0] - numbers[:, -1]).abs().mean()
        return [QualityScore("mean error", error.item(), digits=4)]


def _read(path: Path) -> torch.Tensor:
    return torch.tensor([[float(cell) for cell in line.split()] for line in read_lines(path)])
'''

USE = """
import sys
from pathlib import Path

import regard.models, regard.tasks
from regard.apps.cli import main

sys.modules["regard.models"].__path__.append("models")
sys.modules["regard.tasks"].__path__.append("tasks")
whole = lambda *words: main(["train", "run.toml", *words])


def use():
    assert whole() == 0
    assert whole("--set", "name=parts", "--set", "training.steps=20") == 0
    assert whole("--set", "name=parts") == 0
    names = [sorted(path.name for path in Path("runs", name, "checkpoints").iterdir()) for name in ("line", "parts")]
    assert names[0][-1] == names[1][-1], names
    last = [Path("runs", name, "checkpoints", names[0][-1]).read_bytes() for name in ("line", "parts")]
    assert last[0] == last[1]
    assert main(["evaluate", "runs/line", "dev.txt"]) == 0
    assert main(["compare", "runs/line", "runs/parts", "--test", "dev.txt"]) == 0
    assert main(["doctor", "run.toml", "--seconds", "1"]) == 0
    import regard, torch
    assert regard.load("runs/line")(torch.ones(1, 2)).shape == (1, 1)
    assert main(["train", "run.toml", "--set", "batches.tokens=3"]) == 2
    assert main(["train", "run.toml", "--set", "model=gpt"]) == 2


if __name__ == "__main__":  # models are compared in processes of their own, which import this file
    use()
"""

RUN = """
name = "line"
task = "regress"
[data]
train = ["train.txt"]
dev = ["dev.txt"]
[model]
name = "line"
hidden = 3
[training]
steps = 40
validate_every = 10
checkpoint_every = 20
log_every = 10
metric = "mean_error"
[training.optimizer]
learning_rate = 0.05
[training.schedule]
name = "constant"
"""


def test_a_newcomer_needs_no_other_file(tmp_path: Path) -> None:
    for name, text in {"models/line.py": MODEL, "tasks/regress.py": TASK, "use.py": USE, "run.toml": RUN}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text.lstrip(), encoding="utf-8")
    for name, rows in (("train.txt", range(50)), ("dev.txt", range(50, 60))):
        lines = (f"{at % 7} {at % 5} {2 * (at % 7) - at % 5}" for at in rows)
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "mean_error" in done.stderr
    assert "rows/s" in done.stdout
    assert "mean error 0." in done.stdout
    assert re.search(r"batches: a setting of the task .*translate, but this run's task is regress", done.stderr)
    assert "model.name: gpt learns from text, but the task regress gives columns; models for it are: " in done.stderr
    log = (tmp_path / "runs/line/log.jsonl").read_text(encoding="utf-8")
    assert '"rows_per_second"' in log
    assert '"mean_error"' in log


def test_remarks_stand_in_one_column() -> None:
    advice = Advice('a = 1 # one\nlonger = ["b # c"]   # two\nd = "e"\n[f]        # three\n', ())
    lines = advice.text.splitlines()
    assert [line.partition(" #")[0].rstrip() for line in (lines[0], lines[3])] == ["a = 1", "[f]"]
    assert {line.index("#") for line in (lines[0], lines[3])} == {31}
    assert tomllib.loads(advice.text) == {"a": 1, "longer": ["b # c"], "d": "e", "f": {}}
