"""Deep-Att beside a loop over columns, layers and steps."""

import torch
from torch import Tensor

from regard.models.deep_att import DeepAtt, turned
from tests.models.test_gnmt import lstm

SOURCE, TARGET = torch.tensor([[4, 5, 6, 3]]), torch.tensor([[2, 7, 8]])
LENGTHS = torch.tensor([4])


def test_the_formula() -> None:
    torch.manual_seed(1)
    design = DeepAtt(width=5, encoder_layers=3, decoder_layers=3, dropout=0.0)
    model = design.build({"source": 10, "target": 10}).double().eval()
    ends = []
    for number, column in enumerate(model.encoder.columns):
        y = list(model.source(SOURCE)[0])
        for at, layer in enumerate(column):
            f = [layer.map.weight @ one for one in y]
            forward = (at + number) % 2 == 0  # the first column begins forward, the other backward, and they take turns
            h = lstm(layer.rnn.rnn, f) if forward else lstm(layer.rnn.rnn, f[::-1])[::-1]
            y = [torch.cat(pair) for pair in zip(f, h, strict=True)]
        ends.append(y)
    e = [model.encoder.map(torch.cat(pair)) for pair in zip(*ends, strict=True)]
    torch.testing.assert_close(model.encode(SOURCE, LENGTHS)[0][0], torch.stack(e))
    score, first = model.decoder.cross.reading.score, model.decoder.layers[0]

    def attended(query: Tensor) -> Tensor:
        logits = [(query @ score.query_weight[0] + key @ score.key_weight[0]).tanh() @ score.readout[0] for key in e]
        return sum(w * v for w, v in zip(torch.stack(logits).softmax(0), e, strict=True))

    fs: list[Tensor] = []
    h = torch.zeros(5, dtype=torch.float64)
    for token in model.target(TARGET)[0]:
        fs.append(first.map.weight @ torch.cat([token, attended(h)]))
        h = lstm(first.rnn.rnn, fs)[-1]
    y = [torch.cat(pair) for pair in zip(fs, lstm(first.rnn.rnn, fs), strict=True)]
    for layer in list(model.decoder.layers)[1:]:
        f = [layer.map.weight @ one for one in y]
        y = [torch.cat(pair) for pair in zip(f, lstm(layer.rnn.rnn, f), strict=True)]
    torch.testing.assert_close(model.hidden(SOURCE, LENGTHS, TARGET)[0], torch.stack(y))


def test_sequences_are_turned_within_their_lengths() -> None:
    x = torch.arange(8.0).view(2, 4, 1)
    assert turned(x, torch.tensor([4, 2]))[:, :, 0].tolist() == [[3, 2, 1, 0], [5, 4, 6, 7]]


def test_the_preset_has_the_published_sizes() -> None:
    base = DeepAtt.preset("base")
    assert (base.width, base.encoder_layers, base.decoder_layers) == (512, 9, 7)
