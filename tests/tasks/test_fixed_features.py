"""Features that stay as they are: computed once, they give the logits of the whole model; training reads no text."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard.models.bert import BertModel
from regard.tasks.fixed_features import are_fixed
from regard.tasks.run import run_of
from tests.tasks.test_beginning import home, tuned  # noqa: F401
from tests.tasks.test_classify import LINES, tables, write


def prepared_with_model(home: Path, pooling: str = "mean") -> tuple[Any, Any, Any]:  # noqa: F811
    made = tables()
    made["model"] |= {"pooling": pooling, "dropout": 0.3}
    run = run_of(made, "run")
    prepared: Any = run.task.prepare(home, home)
    model = run.model.build(prepared.sizes)
    for name, weight in model.named_parameters():
        weight.requires_grad_(name.startswith("head."))
    return run.task, prepared, model


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_the_head_makes_of_a_vector_what_the_model_makes_of_the_text(tmp_path: Path, pooling: str) -> None:
    write(tmp_path, LINES)
    task, prepared, model = prepared_with_model(tmp_path, pooling)
    fixed = task.with_fixed_features(model, prepared, lambda text: None)
    model.eval()
    for before, after in zip(prepared.dev, fixed.dev, strict=True):
        torch.testing.assert_close(after.logits(model), model(*before.texts.parts))
    for (where, before), (there, after), _ in zip(prepared.train.walk(), fixed.train.walk(), range(9), strict=False):
        assert where == there and after.labels.equal(before.labels) and after.count == before.count
        torch.testing.assert_close(after.logits(model), model(*before.texts.parts))
    assert sum(share.count for share in after.shares(3)) == after.count
    assert fixed.train.epoch() == prepared.train.epoch()
    assert task.metrics(model, fixed) == pytest.approx(task.metrics(model, prepared), abs=1e-6)


def test_what_learns_or_drops_out_is_not_fixed(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    task, prepared, model = prepared_with_model(tmp_path)
    assert are_fixed(model, prepared.train)
    model.source.table.weight.requires_grad_(True)
    assert task.with_fixed_features(model, prepared, print) is prepared


def test_a_frozen_model_reads_each_text_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    read, encode = list[int](), BertModel.encode

    def counted(own: BertModel, tokens: Any, *more: Any) -> Any:
        read.append(len(tokens))
        return encode(own, tokens, *more)

    monkeypatch.setattr(BertModel, "encode", counted)
    tuned(home, "run", "frozen")
    assert sum(read) == 2 * len(LINES), "the training set and the dev set, whatever the number of steps"
