"""Word vectors: the words of a vocabulary find theirs in files of word2vec and of GloVe."""

from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import MARK, Subwords
from regard.data.word_vectors import read_word_vectors

GLOVE = "the 0.5 -1 2\ncat 1e-3 0 4\n. . . 9 9 9\ndogs 7 7 7\ncat 5 5 5\nnever 1 2 3\n"
EXPECTED = {"the": [0.5, -1, 2], "The": [0.5, -1, 2], "cat": [1e-3, 0, 4], "dogs": [7, 7, 7]}


@pytest.fixture(scope="module")
def words() -> Subwords:
    return learn_subwords(["The cat the dogs sat ."] * 3, SubwordSettings(kind="word", size=20))


@pytest.mark.parametrize("header", ["", "6 3\n"])
def test_words_have_their_vectors(header: str, words: Subwords, tmp_path: Path) -> None:
    """A header, a word twice, one with spaces, one that only its lower-case form has a vector of."""
    (file := tmp_path / "vectors.txt").write_text(header + GLOVE, encoding="utf-8")
    found = read_word_vectors(file, words)
    by_word = {words.pieces[at].removeprefix(MARK): row for at, row in zip(found.ids, found.rows, strict=True)}
    assert by_word.keys() == EXPECTED.keys()
    for word, row in EXPECTED.items():
        np.testing.assert_array_equal(by_word[word], np.float32(row))
    assert found.words == 6


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("the 1 2 3\ncat 1 2\n", "line 2: has 2 numbers, but the vectors before have 3"),
        ("the 1 2 3\ncat 1 x 3\n", "line 2: must be a word and numbers"),
        ("the 1 nan 3\n", "line 1: numbers must be finite"),
        ("the\n", "line 1: has 0 numbers"),
        ("bird 1 2 3\n", "has a vector for none of the 6 words"),
        ("", "the file is empty"),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(text: str, sentence: str, words: Subwords, tmp_path: Path) -> None:
    (file := tmp_path / "vectors.txt").write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match=sentence):
        read_word_vectors(file, words)
