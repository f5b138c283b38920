"""What is hidden and what is asked for, against the rates of the paper."""

from typing import Any

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.masking import Hiding, MaskedWindows, Masking, starts_of_words
from regard.data.plan import BatchPosition
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import BOS, EOS, PAD, Subwords
from regard.data.windows import Streams, StreamSettings

LINES = ["the dogs of the hunters", "a hunter and the dog", "dogs hunt the hunted dog"] * 5


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    return learn_subwords(LINES, SubwordSettings(kind="bpe", size=26)).with_mask()


def texts(subwords: Subwords, rows: int = 400, length: int = 100) -> torch.Tensor:
    """Random tokens, an end here and there, and padding on the right of every other row."""
    made = torch.randint(4, len(subwords) - 1, (rows, length), generator=torch.Generator().manual_seed(1))
    made[:, 9::10] = EOS
    made[::2, length // 2 :] = PAD
    return made


def test_the_rates_are_those_of_the_paper(subwords: Subwords) -> None:
    given = texts(subwords)
    item = Hiding(subwords, Masking())(given, 0, 0)
    plain = int((given > EOS).sum())
    asked = item.wanted != PAD
    assert asked.sum() / plain == pytest.approx(0.15, abs=4 * (0.15 * 0.85 / plain) ** 0.5)
    shown, wanted = item.tokens[asked], item.wanted[asked]
    share = 4 * (0.8 * 0.2 / len(wanted)) ** 0.5
    assert (shown == subwords.mask).float().mean() == pytest.approx(0.8, abs=share)
    same = (shown == wanted).float().mean()
    by_chance = 0.1 / (len(subwords) - 4)  # a random token may be the true one
    assert same == pytest.approx(0.1 + by_chance, abs=share)


def test_what_is_not_asked_for_stays_and_marks_are_never_hidden(subwords: Subwords) -> None:
    given = texts(subwords)
    item = Hiding(subwords, Masking())(given, 0, 0)
    whole = torch.nn.functional.pad(given, (1, 0), value=BOS)
    assert item.tokens[:, 0].eq(BOS).all()
    asked = item.wanted != PAD
    assert torch.equal(item.tokens[~asked], whole[~asked])
    assert torch.equal(item.wanted[asked], whole[asked])
    assert (whole[asked] > EOS).all()
    assert item.lengths.tolist() == (whole != PAD).sum(1).tolist()


def test_draws_depend_on_seed_and_numbers_alone(subwords: Subwords) -> None:
    given = texts(subwords, rows=4)

    def drawn(*numbers: int, **changes: Any) -> torch.Tensor:
        return Hiding(subwords, Masking(**changes))(given, *numbers).tokens

    assert torch.equal(drawn(1, 2), drawn(1, 2))
    assert not torch.equal(drawn(1, 2), drawn(2, 1))
    assert not torch.equal(drawn(1, 2), drawn(1, 2, seed=3))


def test_whole_words_are_hidden_together(subwords: Subwords) -> None:
    ids = [token for line in LINES * 20 for token in (*subwords.encode(line), EOS)]
    rows = torch.tensor(ids[: len(ids) // 50 * 50]).view(-1, 50)
    item = Hiding(subwords, Masking(unit="word", masked=1.0, random=0.0))(rows, 0)
    begins = starts_of_words(subwords)[np.pad(rows.numpy(), ((0, 0), (1, 0)), constant_values=BOS)]
    asked = (item.wanted != PAD).numpy()
    plain = (np.pad(rows.numpy(), ((0, 0), (1, 0))) > EOS) & ~begins
    inside = plain[:, 1:]  # a token that goes on with the word before it
    assert inside.any()
    assert (asked[:, 1:][inside] == asked[:, :-1][inside]).mean() > 0.97  # but where a window cuts a word


def test_word_starts_by_the_marks_of_each_kind() -> None:
    class Named(Subwords):
        def __init__(self, pieces: tuple[str, ...]) -> None:
            self.__dict__["pieces"] = pieces

    assert starts_of_words(Named(("<s>", "▁the", "s"))).tolist() == [False, True, False]
    assert starts_of_words(Named(("<s>", "Ġthe", "s"))).tolist() == [False, True, False]
    assert starts_of_words(Named(("the", "##s"))).tolist() == [True, False]


def test_something_is_asked_for_in_the_shortest_text(subwords: Subwords) -> None:
    for number in range(20):
        assert Hiding(subwords, Masking(rate=0.01))(torch.tensor([[7, 3]]), number).count == 1


def test_windows_hide_other_tokens_in_each_epoch_and_shares_lose_nothing(subwords: Subwords) -> None:
    text = texts(subwords, 8, 50)[1::2].flatten().numpy()
    made = MaskedWindows(Streams(text, StreamSettings(rows=4, length=10)), Hiding(subwords, Masking()))
    first, again, later = (made.at(BatchPosition(epoch=epoch, index=1)) for epoch in (0, 0, 1))
    assert torch.equal(first.tokens, again.tokens)
    assert not torch.equal(first.tokens, later.tokens)
    walked = [item for _, (_, item) in zip(range(3), made.walk(BatchPosition(index=1)), strict=False)]
    assert torch.equal(walked[0].tokens, first.tokens)
    assert sum(share.count for share in first.shares(3)) == first.count
    assert first.count <= first.size


def test_mistaken_settings(subwords: Subwords) -> None:
    with pytest.raises(ConfigError, match="rate must be above 0 and below 1, but is 1"):
        Masking(rate=1.0)
    with pytest.raises(ConfigError, match="must be shares of 1"):
        Masking(masked=0.9, random=0.2)
    with pytest.raises(ConfigError, match="has no mask token"):
        Hiding(learn_subwords(LINES, SubwordSettings(kind="word")), Masking())
