"""Span corruption: what is hidden and what is asked, against the paper's rates."""

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.plan import BatchPosition
from regard.data.span_corruption import CorruptedWindows, Corrupting, Corruption, with_sentinels
from regard.data.subwords.tokenizer import BOS, EOS, PAD
from regard.data.windows import Streams, StreamSettings
from tests.decoding.readers import vocabulary

SUBWORDS = with_sentinels(vocabulary(), 100)


def corrupting(longest: int = 512, **settings: float) -> Corrupting:
    return Corrupting(SUBWORDS, Corruption(**settings), longest)  # type: ignore[arg-type]


def put_back(source: list[int], target: list[int], sentinels: set[int]) -> list[int]:
    """The text, by replacing each sentinel of the source by what follows it in the target."""
    spans: dict[int, list[int]] = {}
    for token in target:
        if token in sentinels:
            spans[token] = []
            last = token
        else:
            spans[last].append(token)
    return [found for token in source for found in (spans[token] if token in sentinels else [token])]


def test_rates_are_those_of_the_paper() -> None:
    """15 % of 512 tokens are 77, in 26 spans of 3 on average; all of them are put back."""
    text, hiding = np.arange(1000, 1512), corrupting()
    marks, lengths = set(hiding.sentinels.tolist()), []
    for seed in range(40):
        source, target = hiding.hide(text, np.random.default_rng(seed))
        assert source[-1] == target[-1] == EOS
        assert len(source) == 512 - 77 + 26 + 1
        assert len(target) == 77 + 26 + 1
        assert [token for token in source if token in marks] == hiding.sentinels[:26].tolist()
        assert [token for token in target if token in marks] == hiding.sentinels[:26].tolist()
        assert put_back(source[:-1].tolist(), target[:-1].tolist(), marks) == text.tolist()
        ends = [at for at, token in enumerate(target) if token in marks or token == EOS]
        lengths += np.diff(ends).tolist()
    spans = np.array(lengths) - 1
    assert spans.min() >= 1
    assert spans.mean() == pytest.approx(77 / 26)
    # Cuts are drawn evenly: P(span has k tokens) = C(76 - k, 24) / C(76, 25)
    ones = 25 / 76
    assert (spans == 1).mean() == pytest.approx(ones, abs=4 * (ones * (1 - ones) / len(spans)) ** 0.5)


def test_every_place_is_hidden_about_as_often() -> None:
    hiding, hidden = corrupting(), np.zeros(200)
    for seed in range(400):
        _, target = hiding.hide(np.arange(1000, 1200), np.random.default_rng(seed))
        hidden[target[target >= 1000] - 1000] += 1
    assert hidden.sum() == 400 * 30
    shares = hidden.reshape(10, 20).mean(1) / 400
    assert shares == pytest.approx(np.full(10, 0.15), abs=0.02)


@pytest.mark.parametrize("length", [1, 2, 3, 6, 7, 20])
def test_short_texts_hide_at_least_one_token(length: int) -> None:
    source, target = corrupting().hide(np.arange(1000, 1000 + length), np.random.default_rng(1))
    marks = set(corrupting().sentinels.tolist())
    assert put_back(source[:-1].tolist(), target[:-1].tolist(), marks) == list(range(1000, 1000 + length))
    assert sum(token >= 1000 for token in target) == max(1, round(0.15 * length))


def test_batches_are_drawn_from_seed_epoch_and_number_alone() -> None:
    windows = Streams(np.arange(4, 4 + 170) % 20 + 4, StreamSettings(rows=4, length=20))
    made = CorruptedWindows(windows, corrupting())
    first, again, other = (made.at(BatchPosition(epoch=epoch, index=1)) for epoch in (0, 0, 1))
    assert torch.equal(first.source, again.source)
    assert not torch.equal(first.source, other.source)
    reseeded = CorruptedWindows(windows, corrupting(seed=2)).at(BatchPosition(index=1))
    assert not torch.equal(first.source, reseeded.source)
    assert (first.target_in[:, 0] == BOS).all()
    assert int((first.target_out != PAD).sum()) == first.count == 4 * (3 + 1 + 1)
    assert made.epoch() == (3, round(170 * 5 / 20))
    walked = made.walk(BatchPosition(index=1))
    assert torch.equal(next(walked)[1].source, first.source)
    last = made.at(BatchPosition(index=len(windows) - 1))
    assert len(last) <= 4


def test_sentinels_are_spelled_in_texts_and_kept_where_they_are() -> None:
    ids = SUBWORDS.encode("two <extra_id_0> play <extra_id_1>")
    assert [SUBWORDS.pieces[number] for number in ids if number >= len(vocabulary())] == [
        "<extra_id_0>",
        "<extra_id_1>",
    ]
    assert with_sentinels(SUBWORDS, 100) == SUBWORDS
    assert SUBWORDS.decode([SUBWORDS.tokenizer.token_to_id("<extra_id_7>")]).strip() == "<extra_id_7>"


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="rate must be above 0 and below 1, but is 0"):
        Corruption(rate=0)
    with pytest.raises(ConfigError, match="span must be at least 1"):
        Corruption(span=0.5)
    with pytest.raises(ConfigError, match=r"texts of 9000 tokens have 450 hidden spans.*sentinels = 450"):
        corrupting(9000)
