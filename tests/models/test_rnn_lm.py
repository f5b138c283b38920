from typing import Any

import pytest
import torch

from regard.attention.record import attention_layers, record
from regard.base.errors import ConfigError
from regard.layers.reader import SingleHead
from regard.models.rnn_lm import RnnLm
from tests.laws import writers

SMALL: dict[str, Any] = {"width": 16}


def test_the_formula() -> None:
    """h(t) = tanh(W_h h(t-1) + W_e c(t) + b₁), and W₂ h + b₂."""
    model = writers.made(RnnLm(cell="elman", width=16))
    rnn = model.decoder.rnn.rnn
    logits = model(None, None, writers.TARGET)
    h = torch.zeros(3, 16, dtype=torch.float64)
    for t in range(writers.TARGET.shape[1]):
        c = model.target.table.weight[writers.TARGET[:, t]]
        h = (h @ rnn.weight_hh_l0.T + c @ rnn.weight_ih_l0.T + rnn.bias_ih_l0 + rnn.bias_hh_l0).tanh()
        torch.testing.assert_close(logits[:, t], h @ model.output.weight.T + model.output.bias)


def test_attention_to_earlier_states_by_a_plain_loop() -> None:
    model = writers.made(RnnLm(width=16, attention=SingleHead(score="bilinear"), combine="concatenate"))
    states, _ = model.decoder.rnn(model.target(writers.TARGET))
    weight = model.decoder.self_attention.reading.score.weight[0]
    hidden = model.hidden(None, None, writers.TARGET)
    for row in range(3):
        for t in range(writers.TARGET.shape[1]):
            past, now = states[row, :t], states[row, t]
            read = torch.zeros_like(now) if t == 0 else (past @ (now @ weight)).softmax(0) @ past
            torch.testing.assert_close(hidden[row, t], torch.cat([now, read]), atol=1e-10, rtol=1e-10)


def test_no_state_looks_at_itself() -> None:
    model = writers.made(RnnLm(width=16, attention=SingleHead()))
    assert list(attention_layers(model)) == ["decoder.self_attention"]
    with record(model, "*.self_attention") as seen:
        model(None, None, writers.TARGET)
    weights = seen.only()[:, 0]
    assert not weights.triu().any()
    torch.testing.assert_close(weights[:, 1:].sum(-1), torch.ones(3, 4, dtype=torch.float64))


def test_tied_widths_must_agree() -> None:
    with pytest.raises(ConfigError, match=r"output \[20, 16\] and embedding \[20, 8\]"):
        RnnLm(width=16, embedding=8, tie="target").build({"text": 20})


def test_cost() -> None:
    weights = 4 * (16 * 16 + 16 * 16) + 16 * 20
    assert RnnLm(width=16).training_flops(0, 100, {"text": 20}) == 6 * 100 * weights
    attentive = RnnLm(width=16, attention=SingleHead())
    assert attentive.training_flops(0, 100, {"text": 20}, length=10) == 6 * 100 * (weights + 2 * 16 * 16 + 16 * 10)
