from collections import Counter

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.search import search
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.models.gpt import Gpt
from tests.decoding.fakes import Fake, FakeLanguage, sources


def first_tokens(strategy: Sample, model: FakeLanguage) -> Counter[int]:
    (found,) = search(model, None, None, strategy)
    return Counter(one.tokens[0] if one.tokens else EOS for one in found)


def probabilities(model: FakeLanguage, temperature: float) -> torch.Tensor:
    model.eval()
    logits, _ = model.step(torch.tensor([EOS]), model.start(None, None))
    return (logits[0] / temperature).softmax(-1).detach()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_they_are_likely(temperature: float) -> None:
    model, draws = FakeLanguage(8, sharpness=1.0), 4000
    drawn = first_tokens(Sample(temperature=temperature, n_best=draws, max_length=1, suppress=()), model)
    expected = probabilities(model, temperature)
    for token in range(8):
        spread = (expected[token] * (1 - expected[token]) / draws).sqrt()
        assert abs(drawn[token] / draws - expected[token]) < 5 * spread + 1e-9


def test_top_k_and_top_p_leave_the_likeliest() -> None:
    model = FakeLanguage(8, sharpness=1.0)
    likely = probabilities(model, 1.0).sort(descending=True)
    common = {"n_best": 500, "max_length": 1, "suppress": ()}
    assert set(first_tokens(Sample(top_k=3, **common), model)) == set(likely.indices[:3].tolist())
    for count in (1, 2, 4):
        share = float(likely.values[:count].sum()) - 1e-4
        assert set(first_tokens(Sample(top_p=share, **common), model)) == set(likely.indices[:count].tolist())
    inside = float(likely.values[0] / likely.values[:2].sum()) - 1e-4
    assert set(first_tokens(Sample(top_k=2, top_p=inside, **common), model)) == {int(likely.indices[0])}


def test_the_seed_decides_and_nothing_else() -> None:
    source, lengths = sources(10)
    one, same, other = (search(Fake(), source, lengths, Sample(seed=seed)) for seed in (1, 1, 2))
    torch.manual_seed(5)
    assert one == same
    assert [x[0].tokens for x in one] != [x[0].tokens for x in other]


def test_samples_of_a_sentence_differ_but_twins_agree() -> None:
    source, lengths = sources(1)
    found = search(Fake(), source.repeat(2, 1), lengths.repeat(2), Sample(n_best=4))
    assert found[0] == found[1]
    assert len({one.tokens for one in found[0]}) == 4


def test_one_likeliest_token_is_greedy() -> None:
    source, lengths = sources(10)
    sampled = search(Fake(), source, lengths, Sample(top_k=1))
    assert [one[0].tokens for one in sampled] == [one[0].tokens for one in search(Fake(), source, lengths, Greedy())]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"temperature": 0.0}, "greedy is what 0 would mean"),
        ({"top_k": -1}, "top_k must be at least 0"),
        ({"top_p": 0.0}, "top_p must be more than 0"),
        ({"top_p": 1.5}, "at most 1"),
        ({"n_best": 0}, "n_best must be at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Sample(**settings)


def keys(count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(-(2**31), 2**31, (count, 2), generator=generator).int()


@pytest.mark.parametrize("settings", [{}, {"top_k": 8}, {"top_p": 0.8}, {"top_k": 8, "top_p": 0.8}])
def test_rounding_changes_a_draw_only_where_it_is_doubtful(settings: dict[str, float]) -> None:
    logits = torch.linspace(2, -6, 10).repeat_interleave(2)
    chance = torch.Generator().manual_seed(2)
    first, doubtful = Sample(**settings).draw(logits.expand(20_000, -1), keys(20_000))
    for _ in range(5):
        other = Sample(**settings).draw(logits + 4e-5 * torch.rand(20_000, 20, generator=chance), keys(20_000))[0]
        assert torch.equal(first[~doubtful], other[~doubtful])
    assert doubtful.float().mean() < 0.001
    assert len(first.unique()) >= 4


def test_a_draw_between_tokens_as_close_as_rounding_is_doubtful() -> None:
    logits = torch.tensor([1.0, 1.0 + 2e-7, -9.0]).expand(2_000, -1)
    strategy = Sample(temperature=1e-5)
    one, other = strategy.draw(logits, keys(2_000)), strategy.draw(logits[:, [1, 0, 2]], keys(2_000))
    different = one[0] != other[0]
    assert different.any()
    assert one[1][different].all()


@pytest.mark.parametrize(
    "settings", [{"top_k": 7}, {"top_p": 0.7}, {"top_p": 0.3}, {"top_k": 9, "top_p": 0.7}, {"top_p": 0.5, "top_k": 19}]
)
@pytest.mark.parametrize("slope", [0.0, 0.4])
def test_tokens_that_differ_by_rounding_alone_are_kept_or_left_out_together(
    settings: dict[str, float], slope: float
) -> None:
    """The edge of top-k or top-p falls between two tokens that rounding lets change places, or onto a round share."""
    torch.manual_seed(4)
    logits = (torch.arange(20) // 2 * -slope).expand(30, -1) + 1e-6 * torch.rand(30, 20)
    (first, doubtful), *others = (Sample(**settings).draw(row.expand(200, -1), keys(200)) for row in logits)
    assert not doubtful.any()
    assert all(torch.equal(first, other) for other, _ in others)


class Rounded(Fake):
    """Its logits are all but equal, and change with the number of rows."""

    def step(self, token, state):
        logits, state = super().step(token, state)
        return logits + 2e-5 * torch.sin(torch.arange(logits.shape[1]) * len(token)), state


@pytest.mark.parametrize("settings", [{}, {"top_k": 6}, {"top_p": 0.6}, {"n_best": 2}])
def test_doubtful_draws_are_decided_by_the_sentence_alone(settings: dict[str, float]) -> None:
    model, (source, lengths) = Rounded(sharpness=3e-3), sources(40)
    strategy = Sample(temperature=1e-3, max_length=12, **settings)
    alone = [search(model, source[at : at + 1, :n], lengths[at : at + 1], strategy)[0] for at, n in enumerate(lengths)]
    heard: dict[int, list[int]] = {at: [] for at in range(40)}

    def listen(sentences: torch.Tensor, tokens: torch.Tensor) -> None:
        for sentence, token in zip(sentences.tolist(), tokens.view(len(sentences), -1)[:, 0].tolist(), strict=True):
            heard[sentence].append(token)

    for size in (2, 7, 40):
        parts = [slice(start, start + size) for start in range(0, 40, size)]
        found = [row for part in parts for row in search(model, source[part], lengths[part], strategy)]
        assert [[one.tokens for one in row] for row in found] == [[one.tokens for one in row] for row in alone]
    if "n_best" not in settings:
        found = search(model, source, lengths, strategy, listen=listen)
        assert all(heard[at][: len(row[0].tokens)] == list(row[0].tokens) for at, row in enumerate(found))


def test_a_shortlist_changes_no_draw_with_the_company() -> None:
    model, (source, lengths) = Rounded(sharpness=3e-3), sources(30)
    likely = [np.array([4 + at % 16, 4 + (3 * at) % 16]) for at in range(20)]
    how = {"shortlist": Shortlist(likely, np.array([5, 9]), 20)}
    strategy = Sample(temperature=1e-3, max_length=12)
    found = search(model, source, lengths, strategy, **how)
    for at, length in enumerate(lengths):
        (alone,) = search(model, source[at : at + 1, :length], lengths[at : at + 1], strategy, **how)
        assert alone[0].tokens == found[at][0].tokens


def test_a_text_gets_the_same_sample_in_any_company() -> None:
    torch.manual_seed(0)
    model = Gpt(layers=2, width=32, heads=2, positions="learned(64)").build({"text": 300}).eval()
    prompts = [[4 + (at * step) % 290 for step in range(1 + at % 6)] for at in range(24)]
    strategy = Sample(top_k=8, max_length=10, n_best=2)
    alone = [[one.tokens for one in search(model, None, None, strategy, [prompt])[0]] for prompt in prompts]
    for size in (3, 8, 24):
        parts = [prompts[start : start + size] for start in range(0, 24, size)]
        found = [row for part in parts for row in search(model, None, None, strategy, part)]
        assert [[one.tokens for one in row] for row in found] == alone
