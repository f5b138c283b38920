import pytest
import torch

from regard.base.errors import UsageError
from regard.inspection.explanation.gradient_reach import gradient_reach
from regard.layers.reader import SingleHead
from regard.models.rnn_lm import RnnLm
from regard.models.transformer import Transformer

TEXTS = torch.tensor([[4, 5, 6, 7, 8, 9, 10, 11, 4]])


def test_it_is_the_size_of_the_gradient_by_finite_differences() -> None:
    model = RnnLm(cell="elman", width=6).build({"text": 12}).double().eval()
    reach = gradient_reach(model, TEXTS)
    assert reach.shape == (8,)
    table = model.target.table.weight
    token, before = int(TEXTS[0, 7]), table.detach().clone()
    assert token not in TEXTS[0, :7].tolist()

    def told() -> float:
        return float(model(None, None, TEXTS[:, :-1])[0, -1].log_softmax(-1)[TEXTS[0, -1]])

    slopes = []
    with torch.no_grad():
        for at in range(6):
            ends = []
            for step in (1e-6, -1e-6):
                table.copy_(before)
                table[token, at] += step
                ends.append(told())
            slopes.append((ends[0] - ends[1]) / 2e-6)
        table.copy_(before)
    assert float(reach[0]) == pytest.approx(float(torch.tensor(slopes).norm()), rel=1e-4)


def test_gradients_of_a_plain_rnn_vanish_and_attention_carries_them() -> None:
    torch.manual_seed(1)
    plain = RnnLm(cell="elman", width=8).build({"text": 12})
    attentive = RnnLm(cell="elman", width=8, attention=SingleHead()).build({"text": 12})
    texts = torch.randint(4, 12, (8, 25))
    without, with_attention = gradient_reach(plain, texts), gradient_reach(attentive, texts)
    assert without[20] / without[0] < 1e-4
    assert with_attention[20] / with_attention[0] > 100 * without[20] / without[0]


def test_translators_are_refused() -> None:
    model = Transformer(encoder_layers=1, decoder_layers=1, width=8, heads=2, feedforward=8).build(
        {"source": 9, "target": 9}
    )
    with pytest.raises(UsageError, match="give a language model"):
        gradient_reach(model, TEXTS)
