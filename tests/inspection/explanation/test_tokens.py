"""Tokens as people read them."""

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import EOS
from regard.data.word_spans import word_spans
from regard.inspection.explanation.tokens import END, Token, shown, shown_words, tokens_of

CHARACTERS = learn_subwords(["ab c"], SubwordSettings(kind="character"))


def test_the_end_and_lone_spaces_are_made_visible() -> None:
    assert shown(CHARACTERS, EOS) == Token(END, True, None)
    assert shown(CHARACTERS, CHARACTERS.pieces.index("▁"), 1) == Token("␣", True, 1)


def test_tokens_know_their_words() -> None:
    ids = CHARACTERS.encode("ab c")
    tokens = tokens_of(CHARACTERS, "ab c", ids, word_spans("ab c"))
    assert [(token.text, token.word) for token in tokens] == [
        ("␣", 0),
        ("a", 0),
        ("b", 0),
        ("␣", 1),
        ("c", 1),
        (END, None),
    ]
    assert [token.starts for token in tokens] == [True, False, False, True, False, True]


def test_pieces_that_a_model_chose_itself_are_kept() -> None:
    subwords = learn_subwords(["aabb aabb aa bb"] * 9, SubwordSettings(min_count=1, size=40))
    letters = [subwords.pieces.index(piece) for piece in ("▁", "a", "a")]
    assert [token.text for token in tokens_of(subwords, "aa", letters, word_spans("aa"))] == ["␣", "a", "a", END]


def test_what_is_unknown_is_shown_as_it_was_written() -> None:
    tokens = tokens_of(CHARACTERS, "aß c", CHARACTERS.encode("aß c"), word_spans("aß c"))
    assert [token.text for token in tokens] == ["␣", "a", "ß", "␣", "c", END]


def test_words_that_share_a_token_are_shown_as_one() -> None:
    whole = learn_subwords(["今天天气"] * 9, SubwordSettings(min_count=1, size=60))
    assert len(whole.encode("今天天气")) == 1
    assert shown_words(whole, "今天天气", whole.encode("今天天气")) == ((0, 4),)
    assert len(word_spans("今天天气")) == 2
    text = "dogs. cats"
    letters = learn_subwords([text], SubwordSettings(kind="character"))
    words = shown_words(letters, text, letters.encode(text))
    assert [text[start:end] for start, end in words] == ["dogs", ".", "cats"]
    assert [token.word for token in tokens_of(letters, text, letters.encode(text), words)][5:8] == [1, 2, 2]
