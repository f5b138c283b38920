import math
from dataclasses import replace

import pytest
import torch

from regard.base.errors import RegardError
from regard.data.pairs import Batch
from regard.training.loss import CrossEntropy, Loss
from regard.training.validation import losses_and_answers, mean_losses, perplexity, validate_quietly

from . import examples


def test_the_mean_is_over_tokens_not_batches() -> None:
    model, batches = examples.tiny().eval(), [examples.batch(1), examples.batch(2)]
    losses = [examples.measured(CrossEntropy())(model, one) for one in batches]
    mean = sum(loss.total.item() for loss in losses) / sum(one.count for one in batches)
    metrics = mean_losses(model, batches, examples.measured(CrossEntropy(smoothing=0.3)))
    assert metrics["perplexity"] == pytest.approx(math.exp(mean))
    assert metrics["loss"] != pytest.approx(mean)
    assert mean_losses(model, batches, examples.measured(CrossEntropy()))["loss"] == pytest.approx(mean)


def test_parts_of_the_loss_are_metrics_too() -> None:
    def objective(model: examples.Tiny, item: Batch) -> Loss:
        loss = examples.measured()(model, item)
        return replace(loss, parts={**loss.parts, "balance": torch.tensor(2.0 * item.count)})

    metrics = mean_losses(examples.tiny(), [examples.batch(1), examples.batch(2)], objective)
    assert list(metrics) == ["loss", "balance", "perplexity"]
    assert metrics["balance"] == pytest.approx(2.0)


def test_nothing_to_predict_is_an_error() -> None:
    with pytest.raises(RegardError, match="there is nothing to predict"):
        mean_losses(examples.tiny(), [], examples.measured())


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


def test_answers_come_from_the_pass_that_measures() -> None:
    model, batches, passes = examples.tiny().eval(), [examples.batch(1), examples.batch(2)], list[int]()

    def judged(model: examples.Tiny, item: Batch) -> tuple[Loss, list[int]]:
        passes.append(item.count)
        return examples.measured()(model, item), [item.count]

    metrics, answers = losses_and_answers(model, batches, judged)
    assert metrics == mean_losses(model, batches, examples.measured())
    assert answers == [[one.count] for one in batches]
    assert len(passes) == len(batches)
