"""Vectors of lines as a NumPy file."""

import io
from pathlib import Path

import numpy as np
import pytest

import regard
from tests.apps.commands.test_predict import written
from tests.apps.running import Run, start

LINES = ["the cat", "the dog\tthe cat", "", "a dog ran"]


def test_a_row_for_each_line(tmp_path: Path, run: Run) -> None:
    model = written(tmp_path, "embed")
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    done = run("embed", str(model), str(tmp_path / "lines.txt"), "--normalize", "--out", str(tmp_path / "v.npy"))
    assert done.code == 0
    assert "4 vectors of 8 numbers" in done.err
    vectors = np.load(tmp_path / "v.npy")
    encoder = regard.load(model, expect=regard.SentenceEncoder)
    expected = encoder.embed(["the cat", ("the dog", "the cat"), "", "a dog ran"], normalize=True)
    np.testing.assert_array_equal(vectors, expected)


def test_vectors_go_through_pipes(tmp_path: Path) -> None:
    process = start(
        "embed", written(tmp_path, "classify", classes=["a", "b"]), "--pooling", "max", text=False, encoding=None
    )
    out, err = process.communicate(b"the cat\nthe dog\n")
    assert process.returncode == 0, err
    assert np.load(io.BytesIO(out)).shape == (2, 8)


@pytest.mark.parametrize(("options", "words"), [
    (["--pooling", "last"], "pooling"),
    ([], "there is no line to embed"),
])  # fmt: skip
def test_mistakes(options: list[str], words: str, tmp_path: Path, run: Run) -> None:
    lines = "the cat\n" if options else ""
    done = run("embed", str(written(tmp_path, "embed")), "--out", str(tmp_path / "v.npy"), *options, stdin=lines)
    assert done.code == 2
    assert words in done.sentence
    assert not (tmp_path / "v.npy").exists()


def test_a_model_that_gives_no_features_is_refused(home: Path, run: Run) -> None:
    done = run("embed", "runs/lm", "lm.toml", "--out", "v.npy")
    assert done.code == 2
    assert "runs/lm: a Generator, which gives no features" in done.err
