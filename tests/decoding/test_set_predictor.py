import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.set_examples import Scale
from regard.data.set_goals import NumberGoal
from regard.decoding.set_predictor import SetPredictor
from regard.models.deep_sets import DeepSets
from regard.models.set_transformer import SetTransformer

SIZES = {"elements": 1, "outputs": 1}


def predictor(model: torch.nn.Module) -> SetPredictor:
    return SetPredictor(model, NumberGoal(Scale((0.0,), (1.0,))), Scale((0.0,), (1.0,)))  # type: ignore[arg-type]


def test_lines_are_answered_and_looked_at() -> None:
    torch.manual_seed(1)
    found = predictor(SetTransformer(width=8, heads=2, seeds=2).build(SIZES))
    told = found.predict(['{"elements": [1, 2, 3]}', '{"elements": [3, 1, 2]}', '{"elements": []}'])
    assert told[0].details["answer"] == pytest.approx(told[1].details["answer"], abs=1e-5)
    assert float(told[2].text) == pytest.approx(told[2].details["answer"], rel=1e-4)
    weights = found.looked_at(np.array([[1.0], [2.0]]))
    assert weights.shape == (2, 2, 2)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2))


def test_mistakes_are_one_sentence() -> None:
    found = predictor(DeepSets(width=4, layers=1).build(SIZES))
    with pytest.raises(RegardError, match="line 1: vector 0 has 2 numbers, but 1 are expected"):
        found.predict(['{"elements": [[1, 2]]}'])
    with pytest.raises(UsageError, match=r"sets: set 0 must be \[size, 1\], but is \[2, 2\]"):
        found.outputs([np.zeros((2, 2))])
    with pytest.raises(UsageError, match="this model pools without attention"):
        found.looked_at(np.zeros((2, 1)))
