"""A run from its settings to its model."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from regard.base.errors import RegardError
from regard.runs.artifact import load_artifact
from regard.tasks.start import train_run
from regard.training.progress import Progress
from tests.apps.running import ROOT
from tests.tasks.prepared import prepare, settings


def test_the_same_seed_gives_the_same_weights(home: Path, tmp_path: Path) -> None:
    first = prepare(settings(home), tmp_path / "run", home)
    other = replace(first, run=settings(home, training__seed=2))
    weights = [next(one.model().parameters()) for one in (first, first, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_run_from_before_tasks_had_names_goes_on(home: Path, tmp_path: Path) -> None:
    short = settings(home, training__steps=4, training__validate_every=4)
    train_run(short, tmp_path / "run", home, Progress())
    before = (tmp_path / "run" / "run.toml").read_text(encoding="utf-8")
    old = before.replace('task = "translate"\n', "") + "\n[streams]\nrows = 32\nlength = 128\n"
    (tmp_path / "run" / "run.toml").write_text(old, encoding="utf-8")
    longer = settings(home, training__steps=6, training__validate_every=4)
    assert train_run(longer, tmp_path / "run", home, Progress()).step == 6
    assert load_artifact(tmp_path / "run" / "model.safetensors").task == "translate"


def test_a_run_from_before_formats_goes_on_and_another_reading_is_refused(home: Path, tmp_path: Path) -> None:
    short = settings(home, training__steps=4, training__validate_every=4)
    train_run(short, tmp_path / "run", home, Progress())
    file = tmp_path / "run" / "run.toml"
    before = file.read_text(encoding="utf-8")
    assert 'leaks = "keep"\n' in before
    file.write_text(before.replace('leaks = "keep"\n', 'keys = ["source", "target"]\n'), encoding="utf-8")
    longer = settings(home, training__steps=6, training__validate_every=4)
    assert train_run(longer, tmp_path / "run", home, Progress()).step == 6
    other = settings(home, training__steps=8, training__validate_every=4, data__leaks="either")
    with pytest.raises(RegardError, match=r"data\.train: .* changed since this run began"):
        train_run(other, tmp_path / "run", home, Progress())


def test_a_run_that_could_not_begin_leaves_its_folder_to_others(home: Path, tmp_path: Path) -> None:
    train = home / "train.en"
    shutil.move(train, home / "aside")
    with pytest.raises(RegardError):
        train_run(settings(home), tmp_path / "run", home, Progress())
    assert not (tmp_path / "run" / "run.toml").exists()


def test_killed_at_any_file_operation_the_next_start_ends_with_the_same_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.tasks.killed", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    killed, _, all_of_them = done.stdout.partition(" of ")
    assert int(killed) == int(all_of_them) > 50


def test_a_second_training_is_refused_while_the_first_prepares(home: Path, tmp_path: Path) -> None:
    class Meanwhile(Progress):
        refused: str = ""

        def say(self, text: str) -> None:
            if not self.refused:  # the first prepares: its subwords are not made yet
                with pytest.raises(RegardError) as refused:
                    train_run(settings(home), tmp_path / "run", home, Progress())
                self.refused = str(refused.value)
                assert not (tmp_path / "run" / "subwords.json").exists()

    first = Meanwhile()
    train_run(settings(home, training__steps=1), tmp_path / "run", home, first)
    assert "is writing this run" in first.refused
    train_run(settings(home, training__steps=1), tmp_path / "run", home, Progress())
