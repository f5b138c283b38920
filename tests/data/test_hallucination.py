"""New stems for training pairs."""

import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.hallucination import Hallucination
from regard.data.subwords.tokenizer import EOS

SIZE = 40


def ids(text: str) -> np.ndarray:
    """Letters as ids from 10 on, and the end of the sentence."""
    return np.array([*(ord(letter) - ord("a") + 10 for letter in text), EOS])


def text(row: np.ndarray) -> str:
    return "".join(chr(number + ord("a") - 10) for number in row[:-1])


PAIRS = [(ids("walkz"), ids("walked")), (ids("talkz"), ids("talked")), (ids("goz"), ids("went"))]


def test_a_stem_changes_in_both_sides_alike_and_nothing_else_does() -> None:
    new = Hallucination(rate=1.0, kept=1).learned(PAIRS, SIZE)
    for epoch in range(20):
        source, target = map(text, new(PAIRS[0], 1, epoch, 0))
        stem = source[:-1]
        assert (source, target) == (stem + "z", stem + "ed")
        assert (len(stem), stem[-1]) == (4, "k")
        assert set(stem) <= set("walkt")
    assert len({text(new(PAIRS[0], 1, epoch, 0)[0]) for epoch in range(20)}) > 1
    assert text(PAIRS[0][0]) == "walkz"  # the pair itself stays


def test_letters_follow_each_other_as_in_the_training_text() -> None:
    new = Hallucination(rate=1.0, kept=0).learned(PAIRS, SIZE)
    followers = {chr(a + 87): {chr(b + 87) for b in after} for a, after in new.after.items() if a > 0}
    assert followers == {"w": {"a"}, "t": {"a"}, "a": {"l"}, "l": {"k"}}


def test_what_is_drawn_depends_on_the_key_alone() -> None:
    new = Hallucination().learned(PAIRS, SIZE)
    rows = [[text(new(PAIRS[0], 1, epoch, 0)[1]) for epoch in range(40)] for _ in range(2)]
    assert rows[0] == rows[1]
    assert 5 < sum(row != "walked" for row in rows[0]) < 35  # half of the pairs, some with the old letters


def test_pairs_without_a_stem_stay_and_unknown_words_are_not_drawn() -> None:
    new = Hallucination(rate=1.0).learned(PAIRS, SIZE)
    assert [text(side) for side in new(PAIRS[2], 1, 0, 2)] == ["goz", "went"]
    odd = (np.array([SIZE, SIZE + 1, SIZE, EOS]), np.array([SIZE, SIZE + 1, SIZE, EOS]))
    assert not Hallucination().learned([odd], SIZE).after


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"rate": 1.5}, {"shortest": 0}, {"kept": -1}])
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="hallucination"):
        Hallucination(**wrong)  # type: ignore[arg-type]
