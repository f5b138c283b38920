"""Settings that fine-tune a model: they train, and hold out the same texts each time."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.decoding.sentence_encoder import SentenceEncoder
from regard.loading import load
from regard.runs.artifact import load_artifact, save_artifact
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Wishes
from regard.tasks.tuning_advice import advise_tuning
from regard.tasks.tuning_ways import TUNING_WAYS
from regard.training.progress import Progress
from tests.apps.commands.test_predict import written

LINES = [f"{('no', 'yes')[at % 2]}\tthe {('cat', 'dog')[at % 2]} {at}" for at in range(60)]


@pytest.mark.parametrize("way", TUNING_WAYS)
def test_what_is_advised_trains(way: str, tmp_path: Path) -> None:
    base = written(tmp_path, "masked")
    (tmp_path / "pets.tsv").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    wishes = Wishes(out=tmp_path / "run.toml")
    advice = advise_tuning([tmp_path / "pets.tsv"], wishes, base, way)
    assert advice == advise_tuning([tmp_path / "pets.tsv"], wishes, base, way)
    advice.write()
    table = tomllib.loads(advice.text)
    dev, train = (set((tmp_path / f"pets-{part}.tsv").read_text().splitlines()) for part in ("dev", "train"))
    assert dev | train == set(LINES) and not dev & train and len(dev) == 6
    table["training"] |= {"steps": 2, "validate_every": 1}
    run = run_of(table, "run")
    train_run(run, tmp_path / "run", tmp_path, Progress())
    assert (tmp_path / "run" / "model.safetensors").exists()
    assert "60 examples of 2 classes: no, yes" in advice.reasons[0]


def test_labels_are_smoothed_and_a_head_alone_reads_the_examples_more_often(tmp_path: Path) -> None:
    base = written(tmp_path, "masked")
    (tmp_path / "pets.tsv").write_text("".join(f"{line}\n" for line in LINES * 60), encoding="utf-8")
    (tmp_path / "pets.txt").write_text("".join(f"{line}\n" for line in LINES * 60), encoding="utf-8")
    wishes = Wishes(out=tmp_path / "run.toml")
    found = {
        way: tomllib.loads(advise_tuning([tmp_path / "pets.tsv"], wishes, base, way).text)["training"]
        for way in TUNING_WAYS
    }
    assert found["frozen"]["loss"] == {"smoothing": 0.1}
    assert found["all"]["loss"] == found["adapters"]["loss"] == {"smoothing": 0.1, "consistency": 1.0}
    assert found["frozen"]["steps"] == pytest.approx(20 / 3 * found["all"]["steps"], rel=0.05)
    assert found["frozen"]["steps"] // found["frozen"]["validate_every"] >= 20
    lines = tomllib.loads(advise_tuning([tmp_path / "pets.txt"], wishes, base).text)["training"]
    assert "loss" not in lines, "sentence vectors have another loss"


def test_without_dropout_a_text_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "pets.tsv").write_text("".join(f"{line}\n" for line in LINES * 60), encoding="utf-8")
    wishes, base = Wishes(out=tmp_path / "run.toml"), written(tmp_path, "masked")
    still = without_dropout(base, tmp_path / "still.safetensors")
    once, twice = (tomllib.loads(advise_tuning([tmp_path / "pets.tsv"], wishes, one).text) for one in (still, base))
    assert "consistency" not in once["training"]["loss"]
    assert once["training"]["steps"] == pytest.approx(4 / 3 * twice["training"]["steps"], rel=0.05)


def without_dropout(base: Path, place: Path) -> Path:
    artifact = load_artifact(base)
    still = {**artifact.config, "model": {**artifact.config["model"], "dropout": 0.0}}
    save_artifact(place, replace(artifact, config=still))
    return place


def test_mistakes(tmp_path: Path) -> None:
    base = written(tmp_path, "masked")
    (tmp_path / "pets.tsv").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    with pytest.raises(UsageError, match="--tuning: unknown 'some'"):
        advise_tuning([tmp_path / "pets.tsv"], Wishes(), base, "some")
    (tmp_path / "pets.txt").write_text("a cat\na dog\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no output of its own that could learn while the rest is frozen"):
        advise_tuning([tmp_path / "pets.txt"], Wishes(), base, "frozen")
    with pytest.raises(UsageError, match="takes one file of labels and texts, not 2"):
        advise_tuning([tmp_path / "pets.tsv"] * 2, Wishes(), base)


def test_a_dev_set_of_ones_own_is_used(tmp_path: Path) -> None:
    base = written(tmp_path, "classify", classes=["a", "b"])
    for name in ("pets.tsv", "dev.tsv"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    wishes = Wishes(out=tmp_path / "run.toml", dev=(tmp_path / "dev.tsv",))
    advice = advise_tuning([tmp_path / "pets.tsv"], wishes, base)
    assert not advice.files
    assert tomllib.loads(advice.text)["data"] == {"train": ["pets.tsv"], "dev": ["dev.tsv"]}


def test_lines_without_labels_are_two_views_by_dropout(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"{line.split(chr(9))[1]}\n" for line in LINES), encoding="utf-8")
    base = written(tmp_path, "masked")
    without_dropout(base, tmp_path / "still.safetensors")
    with pytest.raises(UsageError, match="has no dropout, which makes two views of a line"):
        advise_tuning([tmp_path / "lines.txt"], Wishes(out=tmp_path / "run.toml"), tmp_path / "still.safetensors")
    advice = advise_tuning([tmp_path / "lines.txt"], Wishes(out=tmp_path / "run.toml"), base)
    assert "60 lines without labels" in advice.reasons[0]
    table = tomllib.loads(advice.text)
    table["training"] |= {"steps": 2, "validate_every": 1}
    train_run(run_of(table, "run"), tmp_path / "run", tmp_path, Progress())
    assert load(tmp_path / "run", expect=SentenceEncoder).embed(["a cat"]).shape[0] == 1
    (tmp_path / "one.txt").write_text("a cat\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has 1 line; a line is told from others"):
        advise_tuning([tmp_path / "one.txt"], Wishes(out=tmp_path / "run.toml"), base)
