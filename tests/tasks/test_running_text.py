"""Tasks on running text prepare it in the same way; guesses are counted as a plain loop counts them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from regard.base.errors import ConfigError, RegardError
from regard.layers.output import LinearOutput
from regard.tasks.run import run_of
from regard.tasks.running_text import RunningText, guesses

MODELS = {"language": "gpt", "masked": "bert", "permuted": "xlnet", "spans": "t5"}


def prepare(home: Path, task: str, name: str = "run", **changes: Any) -> Any:
    tables = {
        "task": task,
        "data": {"train": ["text.txt"], "dev": ["dev.txt"]},
        "subwords": {"kind": "word", "min_count": 1},
        "streams": {"rows": 2, "length": 8},
        "model": {"name": MODELS[task]},
        **changes,
    }
    run = run_of(tables, "run")
    assert isinstance(run.task, RunningText)
    (home / name).mkdir(exist_ok=True)
    return run.task.prepare(home / name, home)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text("the cat sees the dog\n" * 30, encoding="utf-8")
    (tmp_path / "dev.txt").write_text("the dog sees the cat\n" * 7, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("task", MODELS)
def test_every_window_of_the_dev_set_is_validated(home: Path, task: str) -> None:
    prepared = prepare(home, task)
    # 7 lines of 6 tokens in 2 rows are 21 columns: windows of 8, 8 and 5
    assert len(prepared.dev) == 3
    again = prepare(home, task)
    assert all(one.count == other.count > 0 for one, other in zip(prepared.dev, again.dev, strict=True))


@pytest.mark.parametrize("task", MODELS)
def test_a_dev_set_that_changed_is_told(home: Path, task: str) -> None:
    prepare(home, task)
    (home / "dev.txt").write_text("the cat sees the cat\n", encoding="utf-8")
    with pytest.raises(RegardError, match=r"data\.dev: .*dev\.txt changed since this run began"):
        prepare(home, task)


def test_subwords_of_a_pair_are_refused(home: Path) -> None:
    (text,) = prepare(home, "language").vocabularies
    for name in ("source.json", "target.json"):
        (home / name).write_text(text.to_json(), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"subwords\.load: at most 1 "):
        prepare(home, "masked", "other", subwords={"load": ["source.json", "target.json"]})


def test_guesses_are_those_of_a_loop() -> None:
    torch.manual_seed(1)
    output = LinearOutput(4, 9).double().requires_grad_(False)
    hidden, wanted = torch.randn(2, 3, 4).double(), torch.tensor([[5, 0, 7], [8, 2, 0]])
    found = guesses(SimpleNamespace(output=output, training=False), hidden, wanted)
    loss = right = 0.0
    for row, column in ((0, 0), (0, 2), (1, 0), (1, 1)):
        logits = output(hidden[row, column])
        loss -= float(logits.log_softmax(-1)[wanted[row, column]])
        right += float(logits.argmax() == wanted[row, column])
    assert found.count == 4
    assert float(found.total) == pytest.approx(loss, rel=1e-12)
    assert float(found.parts["accuracy"]) == right
