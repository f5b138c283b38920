"""Runs whose embeddings begin with word vectors."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError, RegardError
from regard.tasks.run import Run, run_of
from regard.tasks.start import Started, train_run
from regard.tasks.starting_vectors import enter_vectors, starting_vectors_of
from regard.training.progress import Silent
from tests.faults.runs import TABLES, changed, write_data

ROWS = {"a": [3, 0, 0, 4.0], "cat": [0, 5, 0, 0.0], "sat": [1, 1, 1, 1.0]}


def run_with(home: Path, *files: str, **model: Any) -> Run:
    write_data(home)
    (home / "en.txt").write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in ROWS.items()))
    (home / "de.txt").write_text("1 4\nKatze 1 2 3 4\n")
    (home / "wide.txt").write_text("cat 1 2 3 4 5\nKatze 1 2 3 4 5\n")
    tables = changed(("data", "vectors"), list(files))
    return run_of(tables | {"subwords": {"kind": "word", "size": 40}, "model": TABLES["model"] | model}, "tiny")


def started(home: Path, run: Run) -> tuple[Started, list[str]]:
    notes: list[str] = []
    (home / "run").mkdir()
    prepared = run.task.prepare(home / "run", home)
    return Started(run, prepared, vectors=starting_vectors_of(run.task, prepared, home, notes.append)), notes


def test_words_begin_with_their_vectors_and_others_as_they_would(tmp_path: Path) -> None:
    begun, notes = started(tmp_path, run_with(tmp_path, "en.txt", "de.txt"))
    model, plain = begun.model(), replace(begun, vectors={}).model()
    tokenizer = begun.prepared.pair.source  # type: ignore[attr-defined]
    table, usual = model.source.table.weight.detach(), plain.source.table.weight.detach()
    ids = [tokenizer.pieces.index(f"▁{word}") for word in ROWS]
    scale = table[ids[0], 0] / 3
    torch.testing.assert_close(table[ids], scale * torch.tensor(list(ROWS.values())))
    torch.testing.assert_close(table[ids].square().mean(), usual[1:].square().mean())  # as large as new ones
    others = [at for at in range(len(table)) if at not in ids]
    assert torch.equal(table[others], usual[others])
    assert torch.equal(model.output.weight, plain.output.weight)
    assert notes == [
        "en.txt: vectors for 3 of the 10 words of the source vocabulary",
        "de.txt: vectors for 1 of the 10 words of the target vocabulary",
    ]


def test_a_language_model_has_them_too(tmp_path: Path) -> None:
    run = run_with(tmp_path, "en.txt")
    tables = run.to_dict() | {"task": "language", "model": {"name": "rnn_lm", "width": 4, "embedding": 4}}
    tables["data"] = {"train": ["train.en"], "vectors": ["en.txt"]}
    for name in ("batches", "decoding", "hallucination", "subwords"):
        tables.pop(name)
    tables["training"] = {"steps": 1}
    text = run_of(tables | {"subwords": {"kind": "word", "size": 40}}, "tiny")
    begun, _ = started(tmp_path, text)
    at = begun.prepared.vocabularies[0].pieces.index("▁cat")  # type: ignore[attr-defined]
    row = begun.model().target.table.weight[at].detach().numpy()
    np.testing.assert_allclose(row / row[1], [0, 1, 0, 0], atol=1e-6)


def test_a_run_trains_with_them(tmp_path: Path) -> None:
    run = run_with(tmp_path, "en.txt", "de.txt")
    assert train_run(run, tmp_path / "runs", tmp_path, Silent()).step == 1


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (("wide.txt",), r"vectors have 5 numbers, but the model's embeddings 4; set model.embedding = 5"),
        (("en.txt",) * 3, "must be one file, or one for each of source, target, not 3"),
        (("none.txt",), "none.txt"),
    ],
)
def test_vectors_that_do_not_fit_are_one_sentence(files: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=sentence) as refused:
        train_run(run_with(tmp_path, *files), tmp_path / "runs", tmp_path, Silent())
    assert len(str(refused.value).splitlines()) == 1


def test_a_model_without_token_embeddings_says_so(tmp_path: Path) -> None:
    begun, _ = started(tmp_path, run_with(tmp_path, "en.txt", "de.txt"))
    with pytest.raises(ConfigError, match="the model has no embedding of source tokens"):
        enter_vectors(torch.nn.Linear(1, 1), begun.vectors)
