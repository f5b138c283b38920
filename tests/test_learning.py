"""Training from Python: the same runs as on the command line."""

import signal
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.apps.cli import main
from regard.base.errors import ConfigError, RegardError, UsageError
from regard.decoding.generator import Generator
from regard.decoding.translator import Translator
from regard.learning import Trained, train
from regard.models.transformer import Transformer
from regard.tasks.run import read_run
from regard.training.interrupt import Interrupted
from regard.training.optimizers.muon import Muon
from regard.training.progress import Progress, StepReport
from tests.apps import toy
from tests.apps.running import SMALL_LM

SMALL: dict[str, Any] = {
    "subwords": {"kind": "word"},
    "batches": {"tokens": 512},
    "model": {"name": "seq2seq", "width": 16},
    "training": {"steps": 12, "validate_every": 6, "checkpoint_every": 4, "average": 1, "lanes": 1},
}
FILES: dict[str, Any] = {"dev": ["dev.en", "dev.de"]}


@pytest.fixture(autouse=True)
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    toy.write_corpus(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text_files_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    trained = train(["train.en", "train.de"], **FILES, **SMALL, name="mine")
    assert trained.folder == Path("runs/mine")
    assert trained.outcome.step == 12
    assert isinstance(trained.model, Translator)
    assert trained.model is trained.model
    assert trained.file.exists()
    assert [entry["step"] for entry in trained.history] == [6, 12]
    assert {"loss", "bleu"} <= trained.history[-1].keys()
    assert {entry["kind"] for entry in trained.log()} >= {"valid"}
    assert (trained.folder / "curves.png").exists()
    said = capsys.readouterr()
    assert "200 training lines" in said.err
    assert said.out == ""


def test_the_command_and_the_function_make_the_same_bytes() -> None:
    assert main(["init", "train.en", "train.de", "--dev", "dev.en", "dev.de", "--model", "seq2seq", "--name", "a"]) == 0
    changes = {
        "subwords.kind": "word",
        "batches.tokens": 512,
        "model.width": 16,
        "training.steps": 6,
        "training.lanes": 1,
    }
    assert (
        main(["train", "run.toml", *(word for name, value in changes.items() for word in ("--set", f"{name}={value}"))])
        == 0
    )
    quiet = {"progress": Progress(), "runs": "others"}
    by_file = train("run.toml", **quiet, **changes)
    by_run = train(read_run("run.toml"), **quiet, **changes, name="b")
    by_text = train(["train.en", "train.de"], **FILES, **quiet, **changes, model="seq2seq", name="c")
    weights = [
        regard.load(place).models[0].state_dict() for place in ("runs/a", by_file.folder, by_run.folder, by_text.folder)
    ]
    for other in weights[1:]:
        assert all(weights[0][name].equal(other[name]) for name in other)
    assert by_file.file.read_bytes() == Path("runs/a/model.safetensors").read_bytes()


def test_every_step_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[StepReport] = []
    train(["train.en", "train.de"], **FILES, **SMALL, progress=seen.append)
    assert [report.step for report in seen] == list(range(1, 13))
    assert capsys.readouterr().err == ""


def test_ctrl_c_saves_the_run_and_the_same_call_goes_on() -> None:
    def stop(report: StepReport) -> None:
        if report.step == 5:
            signal.raise_signal(signal.SIGINT)

    settings: dict[str, Any] = {**FILES, **SMALL}
    with pytest.raises(Interrupted, match="training was stopped by Ctrl-C after step 5; the run is saved"):
        train(["train.en", "train.de"], **settings, name="stopped", progress=stop)
    steps: list[int] = []
    resumed = train(["train.en", "train.de"], **settings, name="stopped", progress=lambda one: steps.append(one.step))
    whole = train(["train.en", "train.de"], **settings, name="whole", progress=Progress())
    assert steps == [6, 7, 8, 9, 10, 11, 12]
    one, other = resumed.model.models[0].state_dict(), whole.model.models[0].state_dict()
    assert all(one[name].equal(other[name]) for name in other)


def test_parts_are_given_as_objects_or_as_settings() -> None:
    tables = {"data": {"train": ["train.en", "train.de"]}, "subwords": {"kind": "word"}, "model": {"name": "gpt"}}
    design = Transformer(width=16, heads=2, encoder_layers=1, decoder_layers=1, feedforward=32)
    trained = train(
        tables,
        model=design,
        training={"steps": 2, "optimizer": Muon(learning_rate=0.01)},
        progress=Progress(),
        name="x",
    )
    run = read_run(trained.folder / "run.toml")
    assert run.model == design
    assert run.training.optimizer == Muon(learning_rate=0.01)
    assert trained.history == []


def test_a_language_model_is_a_generator() -> None:
    trained = train("train.de", dev="dev.de", expect=Generator, progress=Progress(), **SMALL_LM)  # type: ignore[arg-type]
    assert isinstance(trained.model, Generator)
    assert trained.model.generate(["das"], n_best=2)[0][0].text.startswith("das")


def test_mistakes_are_told() -> None:
    with pytest.raises(ConfigError, match="training: unknown 'stepps'"):
        train(["train.en", "train.de"], training={"stepps": 3})
    with pytest.raises(UsageError, match="train: dev and preset go with text files"):
        train({"data": {}}, dev=["dev.en"])
    with pytest.raises(ConfigError, match=r"name\.more: name is a value, not a table"):
        train(["train.en", "train.de"], **{"name.more": 3})
    with pytest.raises(RegardError, match="no such file"):
        train(["nothing.en", "nothing.de"])


def test_it_is_public() -> None:
    assert regard.train is train
    assert regard.Trained is Trained
