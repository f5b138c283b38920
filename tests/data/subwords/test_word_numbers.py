"""Each token's word, however the tokens were made."""

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import SPECIALS, UNK, Subwords, words
from regard.data.subwords.word_numbers import word_numbers
from tests.data.examples import LINES


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character"])
def test_tokens_know_their_word_as_their_offsets_do(kind: str) -> None:
    subwords = learn_subwords(LINES, SubwordSettings(kind=kind, size=120, min_count=1))
    for line in LINES:
        ids = subwords.encode(line)
        numbers = word_numbers(subwords, line, ids).tolist()
        assert numbers == [piece.word for piece in subwords.encode_with_offsets(line)]
        if UNK not in ids:
            assert [subwords.decode([one for one, at in zip(ids, numbers, strict=True) if at == word])
                    for word in range(len(words(line)))] == words(line)  # fmt: skip


def test_a_spelling_that_encoding_would_not_choose() -> None:
    subwords = learn_subwords(["ab ab ab abc"], SubwordSettings(size=20, min_count=1))
    letter = {piece: number for number, piece in enumerate(subwords.pieces)}
    ids = [letter["▁"], letter["a"], letter["b"], letter["▁"], letter["▁"], letter["c"]]
    text = subwords.decode(ids)
    assert words(text) == ["ab", "c"]
    assert word_numbers(subwords, text, ids).tolist() == [0, 0, 0, 1, 1, 1]


def test_unknown_words_are_words() -> None:
    subwords = learn_subwords(["a b"], SubwordSettings(kind="word", min_count=1))
    ids = [subwords.encode("a")[0], UNK, UNK, subwords.encode("b")[0]]
    assert word_numbers(subwords, subwords.decode(ids), ids).tolist() == [0, 1, 2, 3]


def wordpieces() -> Subwords:
    """Subwords of another kind than those trained here: words go on with ##."""
    pieces = [*SPECIALS, "play", "##ing", "dog", "##s", "the", "##g", "do"]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return Subwords(tokenizer)


def test_loaded_subwords_of_another_kind() -> None:
    subwords = wordpieces()
    ids = subwords.encode("the dogs playing")
    assert word_numbers(subwords, "the dogs playing", ids).tolist() == [0, 1, 1, 2, 2]
    others = [8, 10, 9, 7, 4]  # the do##g##s play, which encoding would write as dog ##s
    text = subwords.decode(others)
    assert text == "the dogs play"
    assert word_numbers(subwords, text, others).tolist() == [0, 1, 1, 1, 2]


def test_no_tokens_and_no_words() -> None:
    assert word_numbers(wordpieces(), "", []).tolist() == []
    assert word_numbers(learn_subwords(["a b"], SubwordSettings(min_count=1)), "", []).tolist() == []
