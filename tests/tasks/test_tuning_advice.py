"""Settings that fine-tune a model: they train, and hold out the same texts each time."""

import tomllib
from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Wishes
from regard.tasks.tuning_advice import TUNING_WAYS, advise_tuning
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


def test_mistakes(tmp_path: Path) -> None:
    base = written(tmp_path, "masked")
    (tmp_path / "pets.tsv").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    with pytest.raises(UsageError, match="--tuning: unknown 'some'"):
        advise_tuning([tmp_path / "pets.tsv"], Wishes(), base, "some")
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
