"""A model led through a pair."""

import pytest
import torch

from regard.data.subwords.tokenizer import BOS, EOS, PAD, UNK
from regard.decoding.scoring import score_tokens
from regard.inspection.explanation.forced import (
    ATTENTION_KINDS,
    attention_kind,
    attention_kinds,
    force,
    likeliest,
)
from regard.inspection.explanation.head_effects import switched_off
from regard.inspection.explanation.text_part import entropy
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer

DESIGNS = {
    "rnn": Seq2seq(width=8),
    "transformer": Transformer(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=2),
}
SOURCE, TARGET = [5, 6, 7, EOS], [8, 5, EOS]


@pytest.mark.parametrize("name", DESIGNS)
def test_every_place_has_a_distribution_that_agrees_with_the_score(name: str) -> None:
    model = DESIGNS[name].build({"source": 12, "target": 12})
    seen = force([model], SOURCE, TARGET)
    assert seen.log_probabilities.shape == (3, 12)
    torch.testing.assert_close(seen.log_probabilities.exp().sum(1), torch.ones(3))
    lengths = torch.tensor([len(SOURCE)]), torch.tensor([len(TARGET)])
    right = score_tokens(model, torch.tensor([SOURCE]), lengths[0], torch.tensor([TARGET]), lengths[1])[0]
    torch.testing.assert_close(seen.log_probabilities[torch.arange(3), torch.tensor(TARGET)], right)
    for weights in seen.layers.values():
        assert weights.shape[1:] == (3, 4)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))


def test_a_model_without_attention_has_no_layers() -> None:
    assert force([Seq2seq(width=8, attention=None).build({"source": 12, "target": 12})], SOURCE, TARGET).layers == {}


def test_self_attention_is_causal_in_the_decoder_and_told_by_its_kind() -> None:
    model = DESIGNS["transformer"].build({"source": 12, "target": 12})
    assert attention_kinds(model) == ATTENTION_KINDS
    assert not force([model], SOURCE, TARGET).attention["decoder"]
    seen = force([model, model], SOURCE, TARGET, ATTENTION_KINDS).attention
    assert all(weights.shape[1:] == (4, 4) for weights in seen["encoder"].values())
    for name, weights in seen["decoder"].items():
        assert attention_kind(name) == "decoder"
        assert not weights.triu(1).any()
    assert {attention_kind(name) for name in seen["encoder"]} == {"encoder"}
    assert any(name.startswith("2:") for name in seen["encoder"])
    assert attention_kinds(DESIGNS["rnn"].build({"source": 12, "target": 12})) == ("cross",)


def test_entropy_counts_bits() -> None:
    sharp, even = torch.eye(4), torch.full((4, 4), 0.25)
    half = torch.tensor([[0.5, 0.5, 0, 0]] * 4)
    torch.testing.assert_close(entropy(torch.stack([sharp, even, half])), torch.tensor([0.0, 2.0, 1.0]))
    torch.testing.assert_close(entropy(3 * even[None]), torch.tensor([2.0]))
    assert entropy(torch.zeros(1, 2, 3)).tolist() == [0.0]


def test_the_likeliest_leave_out_what_is_never_written() -> None:
    chances = torch.arange(8).float().log_softmax(0).flip(0)  # specials are the likeliest
    found = list(likeliest(chances, 3, without=4))
    assert [number for number, _ in found] == [EOS, 5, 6]
    assert not {PAD, UNK, BOS} & {number for number, _ in found}
    assert len(list(likeliest(chances, 100, without=4))) == 4


@pytest.mark.parametrize("models", [1, 2])
def test_effects_are_those_of_a_model_that_was_trained_without_the_head(models: int) -> None:
    """The output projection of each head in turn is zeroed by hand, and the target is scored again."""
    torch.manual_seed(4)
    made = [DESIGNS["transformer"].build({"source": 12, "target": 12}).eval() for _ in range(models)]
    for weight in (weight for model in made for weight in model.parameters()):
        torch.nn.init.normal_(weight, std=0.4)
    seen = force(made, SOURCE, TARGET, ATTENTION_KINDS, effects=True)
    names = [name for kind in ATTENTION_KINDS for name in seen.attention[kind]]
    assert set(seen.effects) == set(seen.moved) == set(names) and len(names) == models * 5

    def chance() -> float:
        told = force(made, SOURCE, TARGET).log_probabilities
        return float(told[torch.arange(3), torch.tensor(TARGET)].double().sum())

    whole = chance()
    for name in names:
        number, _, own = name.rpartition(":")
        output = made[int(number or 1) - 1].get_submodule(own).output
        kept = output.weight.detach().clone()
        for head in range(2):
            with torch.no_grad():
                output.weight[:, 4 * head : 4 * (head + 1)] = 0
                found = whole - chance()
                output.weight.copy_(kept)
            assert float(seen.effects[name][head]) == pytest.approx(found, abs=2e-4), (name, head)


@torch.inference_mode()
def test_what_is_moved_is_the_length_of_what_each_source_token_adds() -> None:
    torch.manual_seed(4)
    model = DESIGNS["transformer"].build({"source": 12, "target": 12}).eval()
    seen = force([model], SOURCE, TARGET)
    for name, weights in seen.layers.items():
        attention, given = model.get_submodule(name), []
        handle = attention.register_forward_hook(lambda module, inputs, output, kept=given: kept.append(inputs))
        force([model], SOURCE, TARGET)
        handle.remove()
        value = attention._project_source(given[0][1], None)[1]
        for head in range(2):
            added = value[0, head] @ attention.output.weight[:, 4 * head : 4 * (head + 1)].T  # [source, width]
            right = weights[head][:, :, None] * added  # the vectors that are added, not yet summed
            lengths = right.norm(dim=-1)
            torch.testing.assert_close(seen.moved[name][head], lengths / lengths.sum(-1, keepdim=True))


def test_effects_of_a_recurrent_model_and_none_where_they_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(4)
    model = DESIGNS["rnn"].build({"source": 12, "target": 12}).eval()
    [(name, effects)] = force([model], SOURCE, TARGET, effects=True).effects.items()
    whole = force([model], SOURCE, TARGET).log_probabilities
    with switched_off(model, {name: [0]}):
        without = force([model], SOURCE, TARGET).log_probabilities
    lost = (whole - without)[torch.arange(3), torch.tensor(TARGET)].sum()
    torch.testing.assert_close(effects[0], lost, atol=1e-5, rtol=1e-4)
    assert force([model], SOURCE, TARGET, effects=None).effects
    monkeypatch.setattr("regard.inspection.explanation.head_effects._QUICK", 10)
    assert force([model], SOURCE, TARGET, effects=True).effects
    assert force([model], SOURCE, TARGET, effects=None).effects == {}
