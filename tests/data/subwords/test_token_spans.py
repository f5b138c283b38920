import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.data.subwords.token_spans import token_spans, word_shares
from regard.data.word_spans import word_spans
from tests.data.examples import LINES, subwords


def test_tokens_stand_where_their_letters_are() -> None:
    known = subwords()
    for text in LINES[:5]:
        spans = token_spans(known, text, known.encode(text))
        assert "".join(text[start:end] for start, end in spans) == text.replace(" ", "")
        other = [one for letter in text.split() for part in letter for one in known.encode(part)]
        assert len(token_spans(known, known.decode(other), other)) == len(other)


def test_a_token_is_shared_by_the_words_of_its_letters() -> None:
    shares = word_shares([(0, 4), (4, 4), (5, 8)], [(0, 3), (3, 4), (5, 8)])
    assert np.allclose(shares, [[0.75, 0.25, 0], [0, 0, 1], [0, 0, 1]])
    assert word_shares([(0, 1)], []).shape == (1, 0)
    assert word_shares([], [(0, 1)]).shape == (0, 1)


@given(st.sampled_from(LINES), st.integers(0, 30))
def test_the_shares_of_a_token_add_up_to_one(text: str, cut: int) -> None:
    known, text = subwords(), text[cut:]
    shares = word_shares(token_spans(known, text, known.encode(text)), word_spans(text))
    if word_spans(text):
        assert np.allclose(shares.sum(1), 1)
