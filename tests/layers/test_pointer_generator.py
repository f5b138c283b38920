"""The pointer-generator beside a computation over words, in dictionaries."""

from collections import defaultdict
from dataclasses import replace
from math import exp, log
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.record import record
from regard.base.errors import ConfigError
from regard.data.subwords.tokenizer import EOS, UNK
from regard.layers.output import LinearOutput
from regard.layers.pointer_generator import Copying, PointerGenerator, output_layer, unknown_word
from regard.layers.reader import SingleHead
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer

VOCABULARY, WIDTH = 9, 6
SOURCE = torch.tensor([[5, 9, 5, 10, 9, EOS], [9, 6, EOS, 0, 0, 0]])
"""the first has two unknown words, 9 and 10, and a word twice; the second an unknown word of its own"""
LENGTHS = torch.tensor([6, 3])
TARGET = torch.tensor([[2, 9, 5, 10], [2, 9, 6, 0]])
DESIGNS = {
    "rnn": Seq2seq(width=8, copy=Copying()),
    "transformer": Transformer(
        width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=1, copy=Copying(score="additive")
    ),
    "decoder's attention": Seq2seq(width=8, cell="lstm", copy=Copying(attention="decoder"), query="previous"),
}


def output(**settings: Any) -> tuple[PointerGenerator, Any, Tensor]:
    """A layer, what it remembers of two sources, and hidden states for it."""
    torch.manual_seed(1)
    layer = PointerGenerator(Copying(**settings), WIDTH, 5, VOCABULARY).double()
    encoded = torch.randn(2, 6, 5, dtype=torch.float64)
    keep = torch.arange(6) < LENGTHS[:, None]
    return layer, layer.remember(SOURCE, encoded, keep), torch.randn(2, 4, WIDTH, dtype=torch.float64)


def by_words(
    layer: PointerGenerator, hidden: Tensor, weights: Tensor, gate: Tensor, source: Tensor
) -> dict[int, float]:
    """P(w) = g · P_vocabulary(w) + (1 - g) · Σ weights where source = w, one word after the other."""
    logits = [float((row @ hidden + shift).detach()) for row, shift in zip(layer.weight, layer.bias, strict=True)]
    total = sum(map(exp, logits))
    g = 1 / (1 + exp(-float(gate.detach())))
    chances: dict[int, float] = defaultdict(float)
    for word, logit in enumerate(logits):
        chances[word] += g * exp(logit) / total
    for word, weight in zip(source.tolist(), weights.tolist(), strict=True):
        chances[word] += (1 - g) * weight
    return chances


def test_it_is_the_sum_over_words() -> None:
    layer, pointed, hidden = output()
    rows = layer.gathered(hidden, pointed)
    mixed, found = layer.mixture(rows), layer(rows)
    assert found.shape == (2, 4, VOCABULARY + 2)
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(2, 4, dtype=torch.float64))
    for row in range(2):
        for t in range(4):
            length = int(LENGTHS[row])
            weights = mixed.weights[row, t]
            assert not weights[length:].any()
            wanted = by_words(layer, hidden[row, t], weights[:length], mixed.gate[row, t], SOURCE[row, :length])
            assert wanted.keys() == {word for word in range(VOCABULARY + 2) if found[row, t, word] > -torch.inf}
            for word, chance in wanted.items():
                assert float(found[row, t, word].detach()) == pytest.approx(log(chance), abs=1e-9)


def test_the_weights_are_those_of_its_attention() -> None:
    layer, pointed, hidden = output(score="additive")
    mixed = layer.mixture(layer.gathered(hidden, pointed))
    read = layer.cross.read(hidden, pointed.memory)
    torch.testing.assert_close(mixed.weights @ pointed.memory.value[:, 0], read)
    gate = torch.cat([hidden, read], -1) @ layer.gate.weight.T + layer.gate.bias
    torch.testing.assert_close(mixed.gate, gate)


@pytest.mark.parametrize("query", ["previous", "current"])
@pytest.mark.parametrize("context", ["output", "both"])
def test_it_may_copy_with_the_attention_of_the_decoder(query: Any, context: Any) -> None:
    torch.manual_seed(1)
    design = Seq2seq(width=8, encoder_width=10, attention=SingleHead(score="bilinear"), query=query, context=context)
    model = replace(design, copy=Copying(attention="decoder")).build({"source": VOCABULARY, "target": VOCABULARY})
    model = model.double().eval()
    layer = model.output
    assert layer.cross is None
    with record(model) as seen:
        found = model(SOURCE, LENGTHS, TARGET)
    weights = torch.cat(list(seen["decoder.cross"]), dim=2)[:, 0]
    encoded, _ = model.encode(SOURCE, LENGTHS)
    plain = replace(design, copy=None).build({"source": VOCABULARY, "target": VOCABULARY}).double().eval()
    plain.load_state_dict(model.state_dict(), strict=False)
    read = weights @ encoded
    known = SOURCE.masked_fill(SOURCE >= VOCABULARY, UNK), LENGTHS, TARGET.masked_fill(TARGET >= VOCABULARY, UNK)
    hidden = plain.hidden(*known)
    for row in range(2):
        for t in range(4):
            length = int(LENGTHS[row])
            gate = layer.gate(torch.cat([hidden[row, t], read[row, t]]))
            wanted = by_words(layer, hidden[row, t], weights[row, t, :length], gate, SOURCE[row, :length])
            for word, chance in wanted.items():
                assert float(found[row, t, word].detach()) == pytest.approx(log(chance), abs=1e-9)


@pytest.mark.parametrize("name", DESIGNS)
def test_with_g_1_it_is_the_model_without_copying(name: str) -> None:
    torch.manual_seed(1)
    copying = DESIGNS[name].build({"source": 12, "target": 12}).double().eval()
    plain = type(DESIGNS[name])(**{**vars(DESIGNS[name]), "copy": None}).build({"source": 12, "target": 12})
    plain = plain.double().eval()
    plain.load_state_dict(copying.state_dict(), strict=False)
    with torch.no_grad():
        copying.output.gate.weight.zero_()
        copying.output.gate.bias.fill_(1000.0)
        given = torch.randint(4, 12, (2, 6)), LENGTHS, TARGET
        expected = plain(*given).log_softmax(-1)
        torch.testing.assert_close(copying(*given), expected, rtol=0, atol=1e-12)
        _, state = copying.step(TARGET[:, 0], copying.start(*given[:2]))
        logits, _ = copying.step(TARGET[:, 1], state)
        torch.testing.assert_close(logits, expected[:, 1], rtol=0, atol=1e-12)


def test_with_g_0_only_words_of_the_source_are_likely() -> None:
    layer, pointed, hidden = output()
    with torch.no_grad():
        layer.gate.weight.zero_()
        layer.gate.bias.fill_(-1000.0)
    chances = layer(layer.gathered(hidden, pointed)).exp()
    for row, source in enumerate(SOURCE):
        others = sorted(set(range(VOCABULARY + 2)) - set(source[: LENGTHS[row]].tolist()))
        assert float(chances[row][:, others].detach().max()) < 1e-200


def test_the_loss_is_that_of_the_true_words() -> None:
    layer, pointed, hidden = output(coverage=2.0)
    rows = layer.gathered(hidden, pointed)
    targets = torch.tensor([[9, 5, 10, EOS], [9, 6, UNK, EOS]])
    total, likelihood = layer.loss(rows.flatten(0, 1), targets.flatten(), smoothing=0.1)
    chances, weights = layer(rows), layer.mixture(rows).weights
    true = -sum(float(chances[row, t, targets[row, t]].detach()) for row in range(2) for t in range(4))
    even = -sum(float(chances[row, t, :VOCABULARY].detach().mean()) for row in range(2) for t in range(4))
    again = 0.0
    for row in range(2):
        covered = [0.0] * 6
        for t in range(4):
            for j, weight in enumerate(weights[row, t].tolist()):
                again += min(weight, covered[j])
                covered[j] += weight
    assert float(likelihood) == pytest.approx(true)
    assert float(total.detach()) == pytest.approx(0.9 * true + 0.1 * even + 2.0 * again)
    plain, _ = output()[0].loss(rows.flatten(0, 1), targets.flatten())
    assert float(plain.detach()) == pytest.approx(true)


def test_gradients_are_numbers_where_a_word_can_hardly_be_copied() -> None:
    layer, pointed, hidden = output()
    hidden = (1e3 * hidden).requires_grad_()
    total, _ = layer.loss(layer.gathered(hidden, pointed).flatten(0, 1), torch.tensor([9, 5, 10, 3, 9, 6, 3, 3]), 0.1)
    total.backward()
    assert total.isfinite()
    assert hidden.grad is not None
    assert hidden.grad.isfinite().all()


@pytest.mark.parametrize("name", DESIGNS)
def test_unknown_words_in_any_company_and_step_by_step(name: str) -> None:
    torch.manual_seed(1)
    model = DESIGNS[name].build({"source": VOCABULARY, "target": VOCABULARY}).double().eval()
    with torch.no_grad():
        together = model(SOURCE, LENGTHS, TARGET)
        for row, (length, width) in enumerate(zip(LENGTHS.tolist(), (2, 1), strict=True)):
            alone = model(SOURCE[row : row + 1, :length], LENGTHS[row : row + 1], TARGET[row : row + 1])
            assert alone.shape[-1] == VOCABULARY + width
            torch.testing.assert_close(together[row, :, : alone.shape[-1]], alone[0])
            assert (together[row, :, alone.shape[-1] :] == -torch.inf).all()
        state = model.start(SOURCE, LENGTHS)
        for t in range(TARGET.shape[1]):
            logits, state = model.step(TARGET[:, t], state)
            torch.testing.assert_close(logits, together[:, t])
        kept, _ = model.step(TARGET[1:, 0], model.start(SOURCE, LENGTHS).keep(torch.tensor([1])))
        torch.testing.assert_close(kept[0], together[1, 0, : VOCABULARY + 1])
        read = model(SOURCE, LENGTHS, TARGET.masked_fill(TARGET >= VOCABULARY, UNK))
        torch.testing.assert_close(read, together, msg="an unknown word is read as <unk>")


def test_one_vocabulary_is_copied_between() -> None:
    assert type(output_layer("model", None, 4, 4, (7, 8))) is LinearOutput
    assert isinstance(output_layer("model", Copying(), 4, 4, (8, 8)), PointerGenerator)
    with pytest.raises(ConfigError, match=r"model.copy: .* have 7 and 8 entries; set subwords.sharing = 'joint'"):
        output_layer("model", Copying(), 4, 4, (7, 8))
    assert (unknown_word(None), unknown_word(Copying())) == (None, UNK)


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="coverage must be at least 0"):
        Copying(coverage=-1.0)
    with pytest.raises(ConfigError, match=r"copy.normalizer: the weights of sigmoid do not sum to one"):
        output_layer("model", Copying(normalizer="sigmoid"), 4, 4, (8, 8))
    with pytest.raises(ConfigError, match=r"transformer.copy.attention: 'decoder' is for seq2seq"):
        Transformer.preset("tiny", copy=Copying(attention="decoder")).build({"source": 8, "target": 8})
    with pytest.raises(ConfigError, match=r"seq2seq.copy.attention: 'decoder' is for seq2seq with attention"):
        Seq2seq(attention=None, copy=Copying(attention="decoder")).build({"source": 8, "target": 8})
