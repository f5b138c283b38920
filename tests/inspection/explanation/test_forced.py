"""A model led through a pair."""

import pytest
import torch

from regard.data.subwords.tokenizer import BOS, EOS, PAD, UNK
from regard.decoding.scoring import score_tokens
from regard.inspection.explanation.forced import (
    ATTENTION_KINDS,
    attention_kind,
    attention_kinds,
    entropy,
    force,
    likeliest,
)
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer

DESIGNS = {"rnn": Seq2seq(width=8), "transformer": Transformer(width=8, heads=2, feedforward=8, encoder_layers=1)}
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
