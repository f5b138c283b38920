from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.record import attention_layers, record
from regard.base.errors import ConfigError
from regard.models.seq2seq import Seq2seq, Seq2seqModel
from tests.laws import writers

SMALL: dict[str, Any] = {"width": 12, "embedding": 10}
WAYS = list(product(["previous", "current"], ["step", "output", "both"], ["nothing", "output"]))


def plain_loop(model: Seq2seqModel, row: int) -> Tensor:
    """One sentence, from the formulas, with dot-product attention and a GRU."""
    decoder, length = model.decoder, int(writers.SOURCE_LENGTHS[row])
    encoded, (last,) = model.encoder(model.source.table.weight[writers.SOURCE[row, :length]][None])
    encoded, state = encoded[0], last[-1, 0]
    read, output = torch.zeros_like(encoded[0]), torch.zeros(decoder.width, dtype=torch.float64)
    outputs = []
    for token in writers.TARGET[row]:
        if decoder.query == "previous":
            read = (encoded @ state).softmax(0) @ encoded
        inputs = [model.target.table.weight[token]]
        inputs += [read] if decoder.context != "output" else []
        inputs += [output] if decoder.feeding == "output" else []
        state = gru(decoder.rnn.rnn, torch.cat(inputs), state)
        if decoder.query == "current":
            read = (encoded @ state).softmax(0) @ encoded
        output = state
        if decoder.context != "step":
            output = (decoder.joining.map.weight @ torch.cat([state, read])).tanh()
        outputs.append(output)
    return torch.stack(outputs)


def gru(rnn: torch.nn.Module, x: Tensor, h: Tensor) -> Tensor:
    taken, kept = rnn.weight_ih_l0 @ x + rnn.bias_ih_l0, rnn.weight_hh_l0 @ h + rnn.bias_hh_l0
    (r, z, n), (r_h, z_h, n_h) = taken.chunk(3), kept.chunk(3)
    stay = (z + z_h).sigmoid()
    return (1 - stay) * (n + (r + r_h).sigmoid() * n_h).tanh() + stay * h


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_against_a_plain_loop(way: tuple[str, str, str]) -> None:
    query, context, feeding = way
    model = writers.made(Seq2seq(**SMALL, query=query, context=context, feeding=feeding))
    hidden = model.hidden(writers.SOURCE, writers.SOURCE_LENGTHS, writers.TARGET)
    for row in range(3):
        torch.testing.assert_close(hidden[row], plain_loop(model, row), atol=1e-10, rtol=1e-10)


def test_which_decoders_run_at_once() -> None:
    settings = [dict(zip(("query", "context", "feeding"), way, strict=True)) for way in WAYS]
    models = [Seq2seq(**SMALL, **chosen).build(writers.SIZES) for chosen in settings]
    at_once = {way for way, model in zip(WAYS, models, strict=True) if model.decoder.at_once}
    assert at_once == {("previous", "output", "nothing"), ("current", "output", "nothing")}


def test_without_attention_the_source_is_one_vector() -> None:
    model = writers.made(Seq2seq(**SMALL, attention=None))
    assert not attention_layers(model)
    state = model.start(writers.SOURCE, writers.SOURCE_LENGTHS)
    assert state.source is None
    assert [tuple(part.shape) for part in state.states] == [(1, 3, 12)]


def test_the_attention_has_a_name_and_a_sentence_one_memory() -> None:
    model = writers.made(Seq2seq(**SMALL))
    assert list(attention_layers(model)) == ["decoder.cross"]
    with record(model, "*.cross") as seen:
        model(writers.SOURCE, writers.SOURCE_LENGTHS, writers.TARGET)
    assert seen.only().shape == (3, 1, 5, 6)
    assert not seen.only()[1, :, :, 2:].any()
    state = model.start(writers.SOURCE, writers.SOURCE_LENGTHS)
    assert state.spread(4).source is state.source
    _, after = model.step(torch.full((12,), 2), state.spread(4))
    assert after.source.key.shape[0] == 3


def test_combinations_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match=r"attention.score: Dot compares vectors of one width"):
        Seq2seq(**SMALL, encoder_width=20).build(writers.SIZES)
    with pytest.raises(ConfigError, match=r"seq2seq.tie: 'all' .* have 20 and 30 entries"):
        Seq2seq(width=12, embedding=12, tie="all").build({"source": 20, "target": 30})
    with pytest.raises(ConfigError, match=r"output \[20, 12\] and embedding \[20, 10\]"):
        Seq2seq(**SMALL, tie="target").build(writers.SIZES)


def test_cost() -> None:
    design = Seq2seq(width=12, embedding=10, attention=None, directions="one")
    cell = 3 * (12 * 10 + 12 * 12)
    assert design.training_flops(100, 200, {"source": 20, "target": 30}) == 6 * (100 * cell + 200 * (cell + 12 * 30))
