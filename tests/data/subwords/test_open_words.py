"""Vocabularies that are extended by the unknown words of a text."""

import pytest

from regard.data.subwords.learn import SubwordKind, SubwordSettings, learn_subwords
from regard.data.subwords.open_words import OpenSubwords, encode_pairs, open_vocabulary
from regard.data.subwords.tokenizer import UNK, Subwords

LINES = ["the dog runs home .", "a cat sleeps", "dogs and cats"] * 20
KINDS: tuple[SubwordKind, ...] = ("bpe", "unigram", "word", "character")
TEXTS = [
    "the ж dog жук runs, Zoë!",
    "Ω",
    "dog ΩΩ dog Ω.",
    "Żółw runs Żółw",
    "x\u00ady  <s> ▁q q <unk>",
    "e\u0301te\u0301 \u00e9t\u00e9",
    "",
    "the dog",
]


def subwords(kind: SubwordKind) -> Subwords:
    return learn_subwords(LINES, SubwordSettings(kind=kind, size=60))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_nothing_is_lost(kind: SubwordKind, text: str) -> None:
    closed = subwords(kind)
    own = open_vocabulary(closed, text)
    ids = own.encode(text)
    assert UNK not in ids
    assert own.decode(ids) == closed.normalize(text)
    assert own.encode_batch([text, "the dog"]) == [ids, closed.encode("the dog")]
    known = [(UNK if number >= len(closed) else number) for number in ids]
    assert known == closed.encode(text)


def test_a_word_has_one_id_wherever_it_stands() -> None:
    closed = subwords("word")
    own = open_vocabulary(closed, "Żółw runs Żółw Ω")
    first = len(closed)
    assert own.encode("Żółw runs Żółw Ω")[::2] == [first, first]
    assert own.encode("Ω dog Żółw") == [first + 1, *closed.encode("dog"), first]
    assert own.pieces[first:] == ("▁Żółw", "▁Ω")
    assert len(own) == first + 2
    assert own.decode([first + 1, first]) == "Ω Żółw"


def test_words_that_the_text_does_not_have_stay_unknown() -> None:
    closed = subwords("word")
    own = open_vocabulary(closed, "Żółw")
    assert own.encode("Ω Żółw") == [UNK, len(closed)]
    assert own.decode([UNK, len(closed)]) == "<unk> Żółw"


def test_a_text_of_known_words_opens_nothing() -> None:
    closed = subwords("word")
    assert open_vocabulary(closed, "the dog") is closed
    assert isinstance(open_vocabulary(closed, "the Ω"), OpenSubwords)


def test_pieces_keep_their_places_in_the_text() -> None:
    closed = subwords("word")
    text = "e\u0301te\u0301  dog"  # two letters that become one
    pieces = open_vocabulary(closed, text).encode_with_offsets(text)
    assert [(piece.start, piece.end) for piece in pieces] == [
        (piece.start, piece.end) for piece in closed.encode_with_offsets(text)
    ]


def test_a_target_is_written_with_the_unknown_words_of_its_source() -> None:
    closed = subwords("word")
    sources, targets = ["Żółw Ω dog", "the dog", "the Ω"], ["dog Ω", "Ω", "a cat"]
    first = len(closed)
    read, said = encode_pairs(closed, sources, targets)
    assert read == [
        [first, first + 1, *closed.encode("dog")],
        closed.encode("the dog"),
        [closed.encode("the")[0], first],
    ]
    assert said == [[*closed.encode("dog"), first + 1], [UNK], closed.encode("a cat")]
