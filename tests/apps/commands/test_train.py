"""Training as a user meets it: to its end, again, with other settings, and interrupted."""

import errno
import gzip
import json
import os
import signal
import sys
from pathlib import Path

import pytest

import regard.base.files
from regard.runs.log import Log
from tests.apps import toy
from tests.apps.running import SMALL, Run, changes, start


def test_a_run_leaves_a_model_a_log_and_curves(home: Path) -> None:
    folder = Path("runs/en-de")
    valid = [entry for entry in Log(folder / "log.jsonl").entries() if entry["kind"] == "valid"]
    assert [entry["step"] for entry in valid] == [45, 90]
    assert valid[1]["loss"] < valid[0]["loss"]
    assert {"bleu", "chrf", "exact", "perplexity"} <= valid[0].keys()
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "run.toml").exists()
    assert not list(Path().rglob("*.tmp"))


def test_after_its_end_nothing_changes(home: Path, run: Run) -> None:
    model, log = Path("runs/en-de/model.safetensors"), Path("runs/en-de/log.jsonl")
    before = model.read_bytes(), log.read_bytes()
    done = run("train", "run.toml", *changes(SMALL))
    assert done.lines == ["90 steps done; the model: runs/en-de/model.safetensors"]
    assert (model.read_bytes(), log.read_bytes()) == before


def test_more_steps_go_on_and_decoding_may_change(home: Path, run: Run) -> None:
    more = changes(SMALL | {"decoding.size": 2}, steps=92)
    done = run("train", "run.toml", *more)
    assert "resumes after step 90" in done.err
    assert done.lines[0].startswith("92 steps done")


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("model.width", 48, "model.width was 32, and is now 48"),
        ("subwords.kind", "bpe", "subwords.kind was 'word', and is now 'bpe'"),
        ("training.optimizer.learning_rate", 0.5, "training.optimizer.learning_rate was 0.02, and is now 0.5"),
    ],
)
def test_other_settings_in_the_same_folder_are_refused(
    home: Path, run: Run, setting: str, value: object, said: str
) -> None:
    model = Path("runs/en-de/model.safetensors")
    before = model.read_bytes()
    done = run("train", "run.toml", *changes(SMALL | {setting: value}))
    assert done.code == 1
    assert done.sentence.startswith(f"runs/en-de: this run was made with other settings: {said};")
    assert model.read_bytes() == before


def test_a_slip_that_stopped_a_first_try_may_be_mended(texts: Path, run: Run) -> None:
    assert run("init", "train.en", "train.de", "--dev", "dev.en", "dev.de").code == 0
    small = changes(SMALL, steps=1, validate_every=1)
    wrong = run("train", "run.toml", *small, "--set", "data.dev=['dev.en', 'dve.de']")
    assert wrong.code == 1
    assert wrong.sentence == "dve.de: cannot be read: there is no such file"
    assert run("train", "run.toml", *small, "--set", "model.cell=lstm", "--set", "subwords.kind=bpe").code == 0


def test_pairs_of_tsv_and_of_compressed_jsonl_are_the_same_training(texts: Path, run: Run) -> None:
    made = toy.pairs(80)
    toy.write(Path("a.tsv"), [f"{source}\t{target}" for source, target in made])
    rows = [json.dumps({"source": source, "target": target}) for source, target in made]
    Path("b.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    models = []
    for file in ("a.tsv", "b.jsonl.gz"):
        assert run("init", file, "--name", "same", "--force", "--model", "seq2seq", "--hold-out", "0").code == 0
        done = run("train", "run.toml", "--runs", file[0], *changes(SMALL, steps=2))
        assert done.code == 0, done.err
        assert done.lines == [f"2 steps done; the model: {file[0]}/same/model.safetensors"]
        models.append(run("translate", f"{file[0]}/same", "--json", stdin="the dog\n").lines)
    assert models[0] == models[1]


def test_data_may_lie_elsewhere(home: Path, run: Run, tmp_path: Path) -> None:
    settings = (tmp_path / "plain.toml").absolute()
    settings.write_text(Path("run.toml").read_text(encoding="utf-8"), encoding="utf-8")
    options = changes(SMALL, steps=1, validate_every=1)
    assert run("train", settings, "--data", home, "--runs", tmp_path / "elsewhere", *options).code == 0
    assert (tmp_path / "elsewhere/en-de/model.safetensors").exists()
    done = run("train", settings, "--runs", tmp_path / "other", *options)
    assert (done.code, done.sentence) == (1, f"{tmp_path}/train.en: cannot be read: there is no such file")


def test_a_run_too_short_to_draw_is_a_run_all_the_same(texts: Path, run: Run) -> None:
    assert run("init", "train.en", "train.de", "--hold-out", "0").code == 0
    done = run("train", "run.toml", *changes(SMALL, steps=1))
    assert done.code == 0
    assert "there is nothing to draw yet" in done.err
    assert Path("runs/en-de/model.safetensors").exists()


def test_without_matplotlib_there_is_a_model_and_a_note(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    done = run("train", "run.toml", *changes(SMALL))
    assert done.code == 0
    assert "regard: curves need matplotlib, which is not installed: pip install 'regard[plots]'" in done.err


@pytest.mark.parametrize(
    ("change", "code", "sentence"),
    [
        ("model.width=wide", 2, "model.width: must be a whole number, but is 'wide'"),
        ("model.preset=datse", 2, "model.preset: unknown 'datse' (did you mean 'dates'?)"),
        ("model.name=gpt", 2, "model.preset: unknown 'dates'; presets are: llama, small, tiny"),
        ("data.train=['missing.en', 'train.de']", 1, "missing.en: cannot be read: there is no such file"),
        ("data.train=['empty', 'empty']", 1, "empty: the file is empty"),
        ("data.train=['train.en', 'dev.de']", 1, "train.en has 200 lines but dev.de has 12"),
        ("data.dev=['dev.en']", 2, "dev.en: 1 sides of text, but 2 vocabularies"),
        ("data.train=['train.en']", 2, "data.train: has one side of text, but this task learns from source and target"),
        ("training.metric=blue", 1, "blue"),
        ("batches.tokens=2", 1, "batches: none of the 200 pairs can be used"),
    ],
)
def test_what_is_wrong_is_one_sentence(texts: Path, run: Run, change: str, code: int, sentence: str) -> None:
    Path("empty").touch()
    assert run("init", "train.en", "train.de", "--dev", "dev.en", "dev.de").code == 0
    done = run("train", "run.toml", *changes(SMALL, steps=1, validate_every=1), "--set", change)
    assert sentence in done.err.splitlines()[-1]
    assert done.code == code
    assert done.out == ""


def test_a_missing_run_file_is_named(texts: Path, run: Run) -> None:
    done = run("train", "rum.toml")
    assert (done.code, done.sentence) == (1, "rum.toml: cannot be read: there is no such file")


def test_a_disk_that_fills_up_is_one_sentence_and_the_run_goes_on(
    texts: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("init", "train.en", "train.de", "--dev", "dev.en", "dev.de").code == 0
    options = changes(SMALL, steps=3, validate_every=2)
    sync, calls = os.fsync, []

    def full(handle: int) -> None:
        calls.append(handle)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(regard.base.files.os, "fsync", full)
        done = run("train", "run.toml", *options)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("regard: runs/en-de/")
    assert done.err.endswith(": cannot be written: no space left on device\n")
    assert run("train", "run.toml", *options).lines[0].startswith("3 steps done")


def test_a_folder_that_cannot_be_made_is_named(texts: Path, run: Run) -> None:
    assert run("init", "train.en", "train.de").code == 0
    done = run("train", "run.toml", "--runs", "train.en", *changes(SMALL))
    assert done.code == 1
    assert done.sentence.startswith("train.en/en-de: cannot be written: ")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the administrator may write anywhere")
def test_a_folder_that_is_read_only_is_named(texts: Path, run: Run) -> None:
    assert run("init", "train.en", "train.de").code == 0
    Path("runs").mkdir(mode=0o500)
    done = run("train", "run.toml", *changes(SMALL))
    assert (done.code, done.sentence) == (1, "runs/en-de: cannot be written: permission denied")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals between processes")
def test_an_interrupted_run_goes_on_to_the_same_model(home: Path, run: Run) -> None:
    options = ["--set", "name=broken", *changes(SMALL, validate_every=5, steps=100_000)]
    process = start("train", "run.toml", *options)
    assert process.stderr
    for line in process.stderr:
        if line.startswith("step"):
            break
    process.send_signal(signal.SIGINT)
    out, said = process.communicate()
    assert process.returncode == 128 + signal.SIGINT
    assert out == ""
    last = said.splitlines()[-1]
    assert last.startswith("regard: training was stopped by Ctrl-C after step ")
    assert last.endswith("; the run is saved, start it again to go on")
    assert "Traceback" not in said
    step = int(last.split("after step ")[1].split(";")[0])
    goal = changes(SMALL, validate_every=5, steps=step + 5)
    done = run("train", "run.toml", "--set", "name=broken", *goal)
    assert f"resumes after step {step}" in done.err
    whole = run("train", "run.toml", "--set", "name=whole", *goal)
    assert (done.code, whole.code) == (0, 0)
    answers = [run("score", f"runs/{name}", "test.en", "test.de").lines for name in ("broken", "whole")]
    assert answers[0] == answers[1]
