"""Fine-tuning: a model begins with another's weights; all of them, a head or adapters learn; resuming is exact."""

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.base.errors import ConfigError, RegardError
from regard.decoding.classifier import Classifier
from regard.interop.huggingface import export_huggingface, import_folder
from regard.runs.artifact import load_artifact
from regard.runs.snapshot import open_artifact
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.training.progress import Progress
from tests.tasks.test_classify import LINES, tables, write


def run(home: Path, name: str, progress: Progress | None = None, **changes: Any) -> Path:
    """Train, and give the model file."""
    made = tables(training={"steps": 6, "validate_every": 3, "checkpoint_every": 1, **changes.pop("training", {})})
    for table, values in changes.items():
        made[table] = {**made.get(table, {}), **values}
    train_run(run_of(made, name), home / name, home, progress or Progress())
    return home / name / "model.safetensors"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A trained classifier to go on from, and other labels to go on with."""
    write(tmp_path, LINES)
    run(tmp_path, "base")
    write(tmp_path, [f"{'new' if 'old' in line else 'old'} {line.split(chr(9))[0]}\t{line.split(chr(9))[1]}"
                     for line in LINES], "other.tsv")  # fmt: skip
    return tmp_path


def tuned(home: Path, name: str, tuning: str | None, progress: Progress | None = None, **changes: Any) -> Path:
    return run(
        home,
        name,
        progress,
        data={"train": ["other.tsv"], "dev": ["other.tsv"]},
        subwords={"load": ["base/model.safetensors"]},
        training={"base": "base/model.safetensors", **({} if tuning is None else {"tuning": tuning})},
        **changes,
    )


class Stop(Progress):
    """Ends training after a step, as a crash would."""

    def stepped(self, report: Any) -> None:
        if report.step == 4:
            raise KeyboardInterrupt


@pytest.mark.parametrize("tuning", ["all(decay=0.5)", "frozen", "adapters(rank=2)"])
def test_what_learns_and_that_resuming_is_exact(tuning: str, home: Path) -> None:
    before, file = load_artifact(home / "base" / "model.safetensors"), tuned(home, "whole", tuning)
    after = load_artifact(file)
    assert after.weights.keys() == before.weights.keys()
    changed = {name for name, weight in after.weights.items()
               if weight.shape != before.weights[name].shape or not weight.equal(before.weights[name])}  # fmt: skip
    head = {name for name in after.weights if name.startswith("head.")}
    assert head <= changed
    if tuning == "frozen":
        assert changed == head
    elif tuning.startswith("adapters"):
        inner = changed - head
        assert inner and all(name.startswith("encoder.") and name.endswith("weight") for name in inner)
        assert not any(".norms." in name for name in inner)
    else:
        assert "source.table.weight" in changed

    with pytest.raises(KeyboardInterrupt):
        tuned(home, "killed", tuning, Stop())
    again = load_artifact(tuned(home, "killed", tuning))
    assert all(again.weights[name].equal(weight) for name, weight in after.weights.items())
    classifier = regard.load(home / "whole", expect=Classifier)
    assert classifier.classes[0] == "new animal"


def test_a_snapshot_of_adapters_is_read_as_a_model(home: Path) -> None:
    tuned(home, "run", "adapters(rank=2)")
    (snapshot, *_) = sorted((home / "run" / "snapshots").iterdir())
    assert open_artifact(snapshot).model() is not None


def test_the_same_task_and_labels_keep_their_head(home: Path) -> None:
    base = load_artifact(home / "base" / "model.safetensors")
    rate = {"optimizer": {"learning_rate": 1e-12}, "base": "base/model.safetensors", "steps": 1}
    file = run(home, "on", subwords={"load": ["base/model.safetensors"]}, training=rate)
    for name, weight in load_artifact(file).weights.items():
        torch.testing.assert_close(weight, base.weights[name], atol=1e-6, rtol=0)


def test_an_imported_model_is_tuned_and_taken_home(tmp_path: Path) -> None:
    """What was read from Hugging Face is written there again, with its new head."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig

    from tests.interop import hf_folders as folders

    small = {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40}
    folders.write(tmp_path / "theirs", "BertForMaskedLM", BertConfig(**small), folders.BRACKETS)
    import_folder(tmp_path / "theirs", tmp_path / "base.safetensors")
    write(tmp_path, [f"{'even' if at % 2 == 0 else 'odd'}\tword{at} word{at}" for at in range(20)])
    model = dict(load_artifact(tmp_path / "base.safetensors").config["model"])
    for tuning in ("adapters(rank=2)", "all"):
        begun = {"base": "base.safetensors", "tuning": tuning}
        file = run(tmp_path, tuning[:3], subwords={"load": ["base.safetensors"]}, model=model, training=begun)
        export_huggingface(file, tmp_path / f"{tuning[:3]}-there")
        place = tmp_path / f"{tuning[:3]}-there"
        there = AutoModelForSequenceClassification.from_pretrained(place).eval()
        assert there.config.id2label == {0: "even", 1: "odd"}
        words = AutoTokenizer.from_pretrained(place).convert_tokens_to_ids(["[CLS]", "word3", "word4", "[SEP]"])
        (here,) = regard.load(file, expect=Classifier).classify([["word3 word4"]])
        expected = there(torch.tensor([words])).logits.softmax(-1)[0]
        assert here.probabilities["odd"] == pytest.approx(float(expected[1]), rel=1e-4)


def test_mistakes(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"training\.tuning: goes with training\.base"):
        run(home, "a", training={"tuning": "frozen"})
    with pytest.raises(ConfigError, match=r"training\.base: .*nothing: there is no such file"):
        run(home, "b", training={"base": "nothing"})
    with pytest.raises(ConfigError, match=r"subwords: are not those of training\.base"):
        run(home, "c", subwords={"kind": "character"}, training={"base": "base/model.safetensors"})
    with pytest.raises(ConfigError, match=r"the model needs the tensor '.*' of shape .*must be that of the base"):
        tuned(home, "d", None, model={"width": 16})
    tuned(home, "e", "all")
    run(home, "other-base", training={"seed": 3})
    (home / "base" / "model.safetensors").write_bytes((home / "other-base" / "model.safetensors").read_bytes())
    with pytest.raises(RegardError, match=r"training\.base: .* changed since this run began"):
        tuned(home, "e", "all")
