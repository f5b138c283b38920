"""Shares worked on side by side give the gradient of the whole, to the same bits every time."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from regard.attention.multihead import Attention
from regard.base.errors import CombinationError
from regard.data.pairs import Batch
from regard.data.plan import BatchPosition
from regard.data.windows import Streams, StreamSettings
from regard.layers.dropout import Dropout
from regard.models.gpt import Gpt
from regard.models.transformer import Transformer
from regard.models.writer import Writer
from regard.training.lanes import Lanes, lane_count, twin
from regard.training.trainer import Trainer

from . import examples

SMALL: dict[str, Any] = {"width": 8, "feedforward": 16, "heads": 2}


def transformer(dropout: float, **changes: Any) -> Writer:
    torch.manual_seed(1)
    layers = {"encoder_layers": 1, "decoder_layers": 2}
    return Transformer(**layers, **SMALL, dropout=dropout, **changes).build(examples.SIZES).train()


def gradients(model: Writer, item: Any, lanes: int, seed: int = 5) -> tuple[list[torch.Tensor], list[float]]:
    model.zero_grad()
    losses = Lanes(model, lanes).backward(examples.measured(), [item], item.count, [seed])
    return [weight.grad.clone() for weight in model.parameters() if weight.grad is not None], list(losses.values())


def test_batch_norm_has_one_lane() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    assert (lane_count(model, 8), lane_count(model[:1], 8)) == (1, 4)
    assert Lanes(model, 1).count == 1
    with pytest.raises(CombinationError, match="batch norm looks at whole batches, which 2 lanes would cut"):
        Lanes(model, 2)


@pytest.mark.parametrize("lanes", [2, 3])
@pytest.mark.parametrize("kind", ["pairs", "text"])
def test_the_gradient_is_that_of_the_whole_batch(kind: str, lanes: int) -> None:
    item: Any = examples.batch(1)
    model = transformer(0.0)
    if kind == "text":
        text = torch.arange(90).remainder(8).add(4).numpy()
        item = Streams(text, StreamSettings(rows=4, length=7)).at(BatchPosition())
        model = Gpt(**SMALL, layers=1, dropout=0.0).build({"text": examples.VOCABULARY}).train()
    model.double()
    whole, shared = gradients(model, item, 1), gradients(model, item, lanes)
    assert shared[1] == pytest.approx(whole[1], rel=1e-12)
    for one, other in zip(whole[0], shared[0], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("changes", [{}, {"stochastic_depth": 0.5}, {"feed": "experts(count=2, chosen=1)"}])
def test_what_is_dropped_follows_from_the_seed(changes: dict[str, Any]) -> None:
    model, item = transformer(0.3, **changes), examples.batch(1)
    first, again, other = gradients(model, item, 2), gradients(model, item, 2), gradients(model, item, 2, seed=6)
    assert first[1] == again[1] != other[1]
    assert all(map(torch.equal, first[0], again[0]))


def test_a_twin_has_the_weights_but_not_the_gradients() -> None:
    model = transformer(0.0)
    copy = twin(model)
    with torch.no_grad():
        next(model.parameters()).add_(1)
    assert all(map(torch.equal, model.parameters(), copy.parameters()))
    next(copy.parameters()).grad = torch.ones_like(next(copy.parameters()))
    assert next(model.parameters()).grad is None


def test_a_failure_in_any_lane_is_raised() -> None:
    def fail(model: Any, item: Batch) -> Any:
        if len(item) and model is not whole:
            raise ArithmeticError("in a twin")
        return examples.measured()(model, item)

    whole = transformer(0.0)
    with pytest.raises(ArithmeticError, match="in a twin"):
        Lanes(whole, 2).backward(fail, [examples.batch(1)], 5, [1])


def test_lanes_are_as_many_as_threads_where_dropout_is_ours() -> None:
    assert lane_count(transformer(0.3), 2) == 2
    assert lane_count(transformer(0.3), 64) == 4
    assert lane_count(nn.Sequential(nn.Linear(1, 1), nn.Dropout(0.1)), 2) == 1
    assert lane_count(nn.Sequential(nn.Linear(1, 1), Dropout(0.001)), 2) == 1
    assert lane_count(nn.Sequential(nn.LSTM(2, 2, 2, dropout=0.1)), 2) == 1
    assert lane_count(Attention(heads=2, dropout=0.1).build(8), 2) == 1


def test_a_run_in_lanes_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    def train(name: str, steps: int) -> bytes:
        folder = examples.run_folder(tmp_path / name)
        settings = examples.settings(steps=steps, lanes=2, metric="loss")
        Trainer(transformer(0.3), examples.Made(), settings, folder, objective=examples.measured()).run()
        return folder.checkpoints.path(steps).read_bytes()

    train("stopped", 8)
    assert train("stopped", 12) == train("whole", 12)
