import json
from pathlib import Path

import pytest

from regard.apps.standing import standing

RUN = 'name = "en-de"\ntask = "translate"\n[model]\nname = "transformer"\n[training]\nsteps = 4000\nmetric = "bleu"\n'


def test_nothing_is_here(tmp_path: Path) -> None:
    assert "regard init train.en train.de" in standing(tmp_path)


def test_files_are_here(tmp_path: Path) -> None:
    for name in ("my pairs.tsv", "notes.pdf"):
        (tmp_path / name).write_text("a\tb\n")
    told = standing(tmp_path)
    assert "regard init 'my pairs.tsv'" in told
    assert "notes" not in told


def test_two_sides_are_here(tmp_path: Path) -> None:
    for name in ("train.cs", "train.de.gz", "valid.cs", "valid.de.gz", "main.py", "program.cs"):
        (tmp_path / name).write_text("a\n")
    told = standing(tmp_path)
    assert "regard init train.cs train.de.gz --dev valid.cs valid.de.gz    or the other way round" in told
    assert "main.py" not in told
    assert "program.cs" not in told


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["en-de.txt.zip"], "regard init en-de.txt.zip\n"),
        (["train.tsv", "dev.tsv"], "regard init FILE …"),
        (["val.cs", "val.en", "train.en", "train.de", "train.cs"], "regard init train.cs train.de    or the other"),
        (["train.fr", "train.lc.en", "train.lc.fr", "train.en"], "regard init train.en train.fr    or the other"),
    ],
)
def test_what_is_here_is_told(tmp_path: Path, names: list[str], told: str) -> None:
    for name in names:
        (tmp_path / name).write_text("a\tb\n")
    assert told in standing(tmp_path)


def test_settings_are_here(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(RUN)
    (tmp_path / "pyproject.toml").write_text('name = "other"')
    (tmp_path / "broken.toml").write_text("= =")
    told = standing(tmp_path)
    assert "run.toml: settings of the run 'en-de', not trained yet" in told
    assert "regard train run.toml" in told
    assert "other" not in told


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "en-de"
    folder.mkdir(parents=True)
    (folder / "run.toml").write_text(RUN)
    entries = [{"kind": "train", "step": 100, "loss": 3.0}, {"kind": "valid", "step": 200, "bleu": 31.25}]
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return folder


def test_a_run_is_in_training(run: Path, tmp_path: Path) -> None:
    told = standing(tmp_path)
    assert "runs/en-de: in training, at step 200 of 4,000" in told
    assert "regard train runs/en-de/run.toml" in told
    (tmp_path / "run.toml").write_text(RUN)
    told = standing(tmp_path)
    assert "regard train run.toml   goes on with it" in told
    assert "not trained yet" not in told


def test_a_run_is_finished(run: Path, tmp_path: Path) -> None:
    (run / "model.safetensors").write_bytes(b"")
    told = standing(tmp_path)
    assert "runs/en-de: trained, at step 200 of 4,000, last bleu 31.25" in told
    assert "regard train runs/en-de/run.toml   goes on with it, unless patience has ended it" in told
    assert "regard translate runs/en-de" in told
    assert "regard serve runs/en-de" in told
