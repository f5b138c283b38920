import pytest
import torch
import torch.nn.functional as F

from regard.base.errors import ConfigError
from regard.data.pairs import Batch
from regard.training.loss import LIKELIHOOD, CrossEntropy

from . import examples


def reference(model: examples.Tiny, batch: Batch, smoothing: float) -> torch.Tensor:
    logits = model(batch.source, batch.source_lengths, batch.target_in)
    return F.cross_entropy(
        logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=0, reduction="sum", label_smoothing=smoothing
    )


@pytest.mark.parametrize("rows", [None, 0, 1, 7])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_it_is_torch_cross_entropy_over_real_tokens(rows: int | None, smoothing: float) -> None:
    model, batch = examples.tiny().double().eval(), examples.batch(1)
    loss = examples.measured(CrossEntropy(smoothing=smoothing, rows=rows))(model, batch)
    loss.total.backward()
    found = {name: weight.grad for name, weight in model.named_parameters()}
    assert loss.count == batch.count == int((batch.target_out != 0).sum())
    torch.testing.assert_close(loss.total, reference(model, batch, smoothing), rtol=0, atol=1e-10)
    torch.testing.assert_close(loss.parts[LIKELIHOOD], reference(model, batch, 0.0).detach(), rtol=0, atol=1e-10)
    model.zero_grad()
    reference(model, batch, smoothing).backward()
    for name, weight in model.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, rtol=0, atol=1e-10)


def test_padding_changes_nothing() -> None:
    model, batch = examples.tiny().double().eval(), examples.batch(2)
    padded = Batch(
        batch.source, batch.source_lengths, F.pad(batch.target_in, (0, 3)), F.pad(batch.target_out, (0, 3)),
        batch.target_lengths, batch.count,
    )  # fmt: skip
    measured = examples.measured()
    torch.testing.assert_close(measured(model, batch).total, measured(model, padded).total)


def test_settings_out_of_range_are_named() -> None:
    with pytest.raises(ConfigError, match=r"smoothing must be at least 0 and below 1, but is 1\.0"):
        CrossEntropy(smoothing=1.0)
    with pytest.raises(ConfigError, match="rows must be at least 0, but is -1"):
        CrossEntropy(rows=-1)
