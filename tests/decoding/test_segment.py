import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base.errors import UsageError
from regard.decoding.segment import split_text


def by_words(text: str) -> int:
    return len(text.split())


def test_what_fits_stays_whole() -> None:
    assert split_text("One. Two. Three.", 3, by_words) == ["One. Two. Three."]
    assert split_text("   ", 3, by_words) == []


def test_sentences_then_clauses_then_spaces() -> None:
    assert split_text("A dog. C d e.", 3, by_words) == ["A dog.", "C d e."]
    assert split_text("a b c; d e f, g h", 5, by_words) == ["a b c;", "d e f, g h"]
    assert split_text("a b c, d e f", 4, by_words) == ["a b c,", "d e f"]
    assert split_text("a b c d e f", 4, by_words) == ["a b c", "d e f"]


def test_a_word_that_no_part_can_hold_is_cut_inside() -> None:
    parts = split_text("x" * 25 + " yy", 10, len)
    assert "".join(parts).replace(" ", "") == "x" * 25 + "yy"
    assert all(len(part) <= 10 for part in parts)
    chinese = "我们今天去公园散步然后回家吃饭" * 3
    assert "".join(split_text(chinese, 10, len)) == chinese


TEXTS = st.text(alphabet="ab .,;!?…。，\n—", max_size=120)


@given(TEXTS, st.integers(1, 20))
def test_parts_fit_and_nothing_but_spaces_is_lost(text: str, longest: int) -> None:
    parts = split_text(text, longest, len)
    assert all(0 < len(part) <= longest for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_a_part_of_no_tokens_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1 token"):
        split_text("a", 0, len)
