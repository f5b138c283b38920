"""Sentence vectors are learned from pairs, evaluated by rank correlation, and loaded."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import regard
from regard.base.errors import ConfigError, RegardError
from regard.data.framed import Frame, batch_of
from regard.data.text_pairs import TextPairs
from regard.data.topics import Topics
from regard.models.headed import Headed
from regard.tasks.embed import Embed, PairLoss
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.tasks.task import Evaluation
from regard.training.contrast_loss import partner_loss
from regard.training.progress import Progress

WORDS = [("cat", "feline"), ("dog", "hound"), ("car", "auto"), ("house", "home"), ("boat", "ship"), ("street", "road")]
PAIRS = [f"the {first} is {how}\tit has a {how} {second}" for first, second in WORDS for how in ("old", "big", "red")]


def tables(**changes: Any) -> dict[str, Any]:
    return {
        "task": "embed",
        "data": {"train": ["pairs.tsv"], "dev": ["pairs.tsv"]},
        "subwords": {"kind": "word", "min_count": 1},
        "batches": {"tokens": 128},
        "model": {"name": "bert", "layers": 1, "width": 32, "heads": 2, "dropout": 0.0, "pooling": "mean"},
        "training": {"steps": 60, "validate_every": 30, "optimizer": {"learning_rate": 0.01}, "schedule": "constant"},
        **changes,
    }


def write(home: Path, name: str, lines: list[str]) -> Path:
    (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return home / name


def test_partners_are_found_after_training(tmp_path: Path) -> None:
    write(tmp_path, "pairs.tsv", PAIRS)
    train_run(run_of(tables(), "run"), tmp_path / "run", tmp_path, Progress())
    encoder = regard.load(tmp_path / "run", expect=regard.SentenceEncoder)
    first, second = (encoder.embed([pair.split("\t")[side] for pair in PAIRS]) for side in (0, 1))
    assert ((first @ second.T).argmax(1) == np.arange(len(PAIRS))).mean() > 0.8
    lines = [f"{5.0 if left == right else 1.0}\tthe {left}\ta {right}" for left, _ in WORDS for right, _ in WORDS]
    test = write(tmp_path, "test.tsv", lines)
    (score,) = Embed.evaluate(encoder, [test], Evaluation(out=tmp_path / "cosines.txt"))
    assert str(score).startswith("Spearman ") and score.value > 30
    assert len((tmp_path / "cosines.txt").read_text().splitlines()) == len(lines)


def test_the_loss_is_the_formula() -> None:
    class Lookup(Headed):
        def forward(self, tokens: torch.Tensor, lengths: torch.Tensor, segments: torch.Tensor) -> torch.Tensor:
            return table[tokens[:, 1]]

    table = torch.randn(20, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    sides = [batch_of([Frame().row([[at]]) for at in ids]) for ids in ([4, 5, 6], [7, 8, 9])]
    task = run_of(tables(), "run").task
    loss = task.loss(Lookup(), TextPairs(*sides))
    expected = 0.0
    unit = table / table.norm(dim=1, keepdim=True)
    for rows, columns in (([4, 5, 6], [7, 8, 9]), ([7, 8, 9], [4, 5, 6])):
        for at, row in enumerate(rows):
            logits = [float(unit[row] @ unit[column]) / 0.05 for column in columns]
            expected += 0.5 * (np.log(np.exp(logits).sum()) - logits[at])
    assert float(loss.total) == pytest.approx(expected, rel=1e-9)
    assert loss.count == 3


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="temperature must be more than 0"):
        PairLoss(temperature=0.0)
    write(tmp_path, "pairs.tsv", PAIRS)
    train_run(run_of(tables(training={"steps": 1}), "run"), tmp_path / "run", tmp_path, Progress())
    encoder = regard.load(tmp_path / "run", expect=regard.SentenceEncoder)
    for lines, words in (
        (["much\ta\tb"], "line 1: the first column must be a score, a number, but is 'much'"),
        (["1.0\ta"], "must be a score and two texts"),
    ):
        with pytest.raises(RegardError, match=words):
            Embed.evaluate(encoder, [write(tmp_path, "test.tsv", lines)], Evaluation())


def test_lines_without_partners_learn_by_dropout(tmp_path: Path) -> None:
    """SimCSE: two reads of the same line differ by dropout alone, and topics come apart without labels."""
    topics = list(Topics(lines=160, topics=2, strays=0.0))
    write(tmp_path, "lines.txt", [text for _, text in topics])
    model = tables()["model"] | {"dropout": 0.2}
    run = run_of(tables(data={"train": ["lines.txt"]}, model=model, batches={"tokens": 512}), "run")
    prepared = run.task.prepare(tmp_path, tmp_path)
    _, item = next(prepared.train.walk())
    assert torch.equal(item.first.tokens, item.second.tokens)
    built = run.model.build(prepared.sizes)
    built.train()
    views = [F.normalize(built(*side.parts), dim=-1).double() for side in (item.first, item.second)]
    assert not torch.allclose(*views)
    built.eval()
    assert torch.equal(built(*item.first.parts), built(*item.second.parts))


def test_the_loss_of_two_views_is_the_formula_of_simcse() -> None:
    """Gao et al., 2021, equation 1, in a loop: the mean of both directions, which are alike in distribution."""
    drawn = torch.randn(2, 6, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    first, second = F.normalize(drawn, dim=-1)
    logits = first @ second.T / 0.05
    expected = 0.0
    for rows, columns in ((first, second), (second, first)):
        for at in range(6):
            likeness = [math.exp(float(rows[at] @ columns[other]) / 0.05) for other in range(6)]
            expected += 0.5 * -math.log(likeness[at] / sum(likeness))
    total, found = partner_loss(logits)
    assert float(total) == pytest.approx(expected, rel=1e-12)
    assert float(found) == sum(int(max(range(6), key=lambda other: float(logits[at, other])) == at) for at in range(6))


def test_bad_input_of_lines(tmp_path: Path) -> None:
    write(tmp_path, "lines.txt", ["a cat", "a dog"])
    with pytest.raises(ConfigError, match=r"model\.dropout: must be more than 0"):
        run_of(tables(data={"train": ["lines.txt"]}), "run").task.prepare(tmp_path, tmp_path)
    dropping = tables()["model"] | {"dropout": 0.1}
    with pytest.raises(ConfigError, match=r"lines\.txt holds lines; sentence vectors are validated on pairs"):
        run_of(tables(data={"train": ["lines.txt"], "dev": ["lines.txt"]}, model=dropping), "run").task.prepare(
            tmp_path, tmp_path
        )
