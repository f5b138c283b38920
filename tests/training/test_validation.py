import math

import pytest
import torch

from regard.base.errors import RegardError
from regard.training.loss import CrossEntropy
from regard.training.validation import Validation, perplexity, validate_quietly

from . import examples


def test_the_mean_is_over_tokens_not_batches() -> None:
    model, batches = examples.tiny().eval(), [examples.batch(1), examples.batch(2)]
    losses = [CrossEntropy()(model, one) for one in batches]
    mean = sum(loss.total.item() for loss in losses) / sum(one.tokens for one in batches)
    metrics = Validation(batches, objective=CrossEntropy(smoothing=0.3))(model)
    assert metrics["perplexity"] == pytest.approx(math.exp(mean))
    assert metrics["loss"] != pytest.approx(mean)
    assert Validation(batches)(model)["loss"] == pytest.approx(mean)


def test_the_scorer_s_metrics_are_added() -> None:
    metrics = Validation([examples.batch(1)], lambda model: {"bleu": 12})(examples.tiny())
    assert list(metrics) == ["loss", "perplexity", "bleu"]


def test_nothing_to_predict_is_an_error() -> None:
    with pytest.raises(RegardError, match="there are no tokens to predict"):
        Validation([])(examples.tiny())


def test_it_leaves_the_model_as_it_was() -> None:
    model = examples.tiny().train()

    def watching(seen: examples.Tiny) -> dict[str, float]:
        assert not seen.training
        assert not torch.is_grad_enabled()
        return {"score": 1}

    assert validate_quietly(watching, model) == {"score": 1.0}
    assert model.training
    with pytest.raises(ZeroDivisionError):
        validate_quietly(lambda seen: {"score": 1 / 0}, model)
    assert model.training
    assert torch.is_grad_enabled()


def test_perplexity_knows_no_overflow() -> None:
    assert perplexity(0.0) == 1.0
    assert perplexity(1e6) == math.inf
