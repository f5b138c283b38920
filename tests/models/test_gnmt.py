"""GNMT beside a loop over layers and steps."""

import pytest
import torch
from torch import Tensor

from regard.base.errors import ConfigError, ShapeError
from regard.layers.feeds.experts import Experts
from regard.layers.feeds.plain import Plain
from regard.models.deep_att import DeepAtt
from regard.models.gnmt import Gnmt, GnmtModel
from regard.models.model import weights_in

SOURCE, TARGET = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
LENGTHS = torch.tensor([4])


def built(**settings: object) -> GnmtModel:
    torch.manual_seed(1)
    design = Gnmt(width=6, encoder_layers=4, decoder_layers=4, dropout=0.0, **settings)
    return design.build({"source": 10, "target": 10}).double().eval()


def lstm(rnn: torch.nn.LSTM, x: list[Tensor], suffix: str = "") -> list[Tensor]:
    """One layer of one direction, step by step."""
    given, own = (getattr(rnn, f"weight_{kind}_l0{suffix}") for kind in ("ih", "hh"))
    bias = getattr(rnn, f"bias_ih_l0{suffix}") + getattr(rnn, f"bias_hh_l0{suffix}")
    h = c = x[0].new_zeros(own.shape[1])
    found = []
    for token in x:
        i, f, g, o = (given @ token + own @ h + bias).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        found.append(h)
    return found


@pytest.mark.parametrize("feed", [None, Plain(8)], ids=["none", "between"])
def test_the_formula(feed: Plain | None) -> None:
    model = built(feed=feed)
    x = list(model.source(SOURCE)[0])
    lowest = model.encoder.lowest.rnn
    back = lstm(lowest, x[::-1], "_reverse")[::-1]
    e = [torch.cat(pair) for pair in zip(lstm(lowest, x), back, strict=True)]
    for at, layer in enumerate(model.encoder.layers):
        made = lstm(layer.rnn, e)
        e = made if at == 0 else [one + other for one, other in zip(made, e, strict=True)]
        if feed is not None and at == 0:
            e = [one + model.encoder.feed(one) for one in e]
    torch.testing.assert_close(model.encode(SOURCE, LENGTHS)[0][0], torch.stack(e))
    s = lstm(model.decoder.lowest.rnn, list(model.target(TARGET)[0]))
    score = model.decoder.cross.reading.score
    contexts = []
    for query in s:
        logits = [(query @ score.query_weight[0] + key @ score.key_weight[0]).tanh() @ score.readout[0] for key in e]
        contexts.append(sum(w * v for w, v in zip(torch.stack(logits).softmax(0), e, strict=True)))
    s = s if feed is None else [one + model.decoder.feed(one) for one in s]
    for at, layer in enumerate(model.decoder.layers):
        made = lstm(layer.rnn, [torch.cat(pair) for pair in zip(s, contexts, strict=True)])
        s = made if at == 0 else [one + other for one, other in zip(made, s, strict=True)]
    torch.testing.assert_close(model.hidden(SOURCE, LENGTHS, TARGET)[0], torch.stack(s))


def test_presets_have_the_published_sizes() -> None:
    base = Gnmt.preset("base")
    assert (base.width, base.encoder_layers, base.decoder_layers) == (1024, 8, 8)
    moe = Gnmt.preset("moe", feed=Experts(count=16, chosen=4))
    with torch.device("meta"):
        model = moe.build({"source": 100, "target": 100})
    # of a token's experts only four are used: 2 · 512 · 2048 weights each
    assert weights_in(model.encoder.feed) == 4 * 2 * 512 * 2048 + 16 * 512


def test_one_decoder_layer_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"gnmt.decoder_layers: .* use at least 2"):
        Gnmt(width=4, decoder_layers=1).build({"source": 10, "target": 10})


@pytest.mark.parametrize("design", [Gnmt, DeepAtt])
def test_a_source_is_needed_and_read_once(design: type) -> None:
    model = design(width=4, encoder_layers=2, decoder_layers=2).build({"source": 9, "target": 9}).eval()
    with pytest.raises(ShapeError, match="needs a source"):
        model.start(None, None)
    state = model.start(torch.tensor([[4, 3]]), torch.tensor([2])).spread(3)
    logits, after = model.step(torch.tensor([2, 4, 5]), state)
    assert logits.shape == (3, 9)
    assert after.length == 1
    assert after.sources is state.sources
