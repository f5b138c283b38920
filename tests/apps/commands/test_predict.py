"""Answers line by line."""

import json
from pathlib import Path

import pytest
import torch

from regard.models.bert import Bert
from regard.runs.artifact import Artifact, save_artifact
from tests.apps.running import Run
from tests.decoding.readers import vocabulary


def written(folder: Path, task: str, **extras: object) -> Path:
    torch.manual_seed(1)
    sizes = {"text": len(vocabulary())} | {"classify": {"classes": 2}, "embed": {"vector": 1}}.get(task, {})
    model = Bert(layers=1, width=8, heads=2).build(sizes)
    config = {"model": {"name": "bert", "layers": 1, "width": 8, "heads": 2}}
    made = Artifact(config=config, task=task, sizes=sizes, tokenizers={"text": vocabulary().to_json()}, extras=extras)
    save_artifact(folder / f"{task}.safetensors", made.with_weights(model.state_dict()))
    return folder / f"{task}.safetensors"


def test_labels_and_probabilities(tmp_path: Path, run: Run) -> None:
    model = written(tmp_path, "classify", classes=["no", "yes"])
    (tmp_path / "lines.txt").write_text("the cat\nthe dog\n", encoding="utf-8")
    plain = run("predict", str(model), str(tmp_path / "lines.txt")).lines
    assert all(line.split("\t")[0] in ("no", "yes") for line in plain)
    assert run("predict", str(model), *[str(tmp_path / "lines.txt")] * 2).lines == plain * 2  # as a shell names files
    full = [json.loads(line) for line in run("predict", str(model), "--json", stdin="the cat\nthe dog\n").lines]
    assert [one["labels"][0] for one in full] == [line.split("\t")[0] for line in plain]
    assert all(sum(one["probabilities"].values()) == pytest.approx(1.0) for one in full)


def test_masked_tokens(tmp_path: Path, run: Run) -> None:
    (tmp_path / "lines.txt").write_text("the <mask> sat\n", encoding="utf-8")
    (line,) = run("predict", str(written(tmp_path, "masked")), str(tmp_path / "lines.txt")).lines
    assert line.startswith("the ")
    assert "<mask>" not in line


def test_a_sentence_encoder_is_refused(tmp_path: Path, run: Run) -> None:
    done = run("predict", str(written(tmp_path, "embed")), stdin="a dog\n")
    assert done.code == 2
    assert "a sentence encoder, which gives vectors; use regard embed or nearest" in done.sentence


def test_a_model_that_writes_is_refused(home: Path, run: Run) -> None:
    done = run("predict", "runs/lm", "lm.toml")
    assert done.code == 2
    assert "a generator, which writes texts; use regard translate or generate" in done.err
