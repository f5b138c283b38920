"""Nothing is lost between text and ids, and nothing in a text passes for a special token."""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import BOS, EOS, MARK, PAD, SPECIALS, UNK, SubwordPair, Subwords, words
from tests.data.examples import KINDS, LINES, subwords

anything = st.text(st.characters(codec="utf-8"))
writable = st.text([*sorted(set("".join(LINES))), "\t", "\u2028", MARK])
spelled = st.lists(st.sampled_from([*SPECIALS, "<", ">", "s", "/", " ", "a", "<0x41>", MARK])).map("".join)


@given(text=anything | spelled)
@example(text="a<s>b </s><pad><unk> <0x41>")
@pytest.mark.parametrize("kind", ["bpe", "unigram", "character"])
def test_with_bytes_every_text_survives(kind: str, text: str) -> None:
    one = subwords(kind, True)
    assert one.decode(one.encode(text)) == one.normalize(text)


@given(text=writable)
@pytest.mark.parametrize("kind", ["bpe", "unigram", "character"])
def test_without_bytes_every_text_of_known_characters_survives(kind: str, text: str) -> None:
    one = subwords(kind)
    assert one.decode(one.encode(text)) == one.normalize(text)
    assert one.unknowns(text) == ()


@given(text=anything)
def test_normalization_is_what_is_stated(text: str) -> None:
    stated = " ".join(unicodedata.normalize("NFC", text).replace(MARK, " ").split())
    known = all(unicodedata.category(character) != "Cn" for character in text)  # the two may differ in Unicode version
    assert not known or subwords().normalize(text) == stated
    assert subwords().normalize(stated) == stated


def test_all_white_space_separates_words() -> None:
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert all(subwords().normalize(f"{space}a{space}b") == "a b" for space in spaces)


@given(text=spelled)
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_text_cannot_spell_a_special_token(kind: str, byte_fallback: bool, text: str) -> None:
    if byte_fallback and kind == "word":
        return
    one = subwords(kind, byte_fallback)
    assert not {PAD, BOS, EOS} & {*one.encode(text), *one.encode_batch([text])[0]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_trained_on_special_names_does_not_learn_them(kind: str) -> None:
    from regard.data.subwords.learn import SubwordSettings, learn_subwords

    lines = ["a<s>b <s> </s>x <pad> <unk> c"] * 20
    one = learn_subwords(lines, SubwordSettings(kind=kind, size=200))  # type: ignore[arg-type]
    assert not set(range(4)) & set(one.encode(lines[0]))
    assert one.decode(one.encode(lines[0])) == lines[0]


@given(texts=st.lists(anything | writable | spelled))
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_encoded_like_its_texts(kind: str, texts: list[str]) -> None:
    one = subwords(kind)
    assert one.encode_batch(texts) == [one.encode(text) for text in texts]


def test_the_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.subwords.tokenizer._REMEMBERED", 5)
    one = Subwords.from_json(subwords().to_json())
    texts = [f"dog{number} grass" for number in range(50)]
    for text in texts:
        assert one.encode_batch([text, text]) == [one.encode(text)] * 2
        assert len(one._memo) <= 5
    long = "dog" * 100
    assert one.encode_batch([f"grass {long}"]) == [one.encode(f"grass {long}")]
    assert long not in one._memo


@given(text=writable | spelled)
@pytest.mark.parametrize("kind", KINDS)
def test_each_token_knows_its_word(kind: str, text: str) -> None:
    one = subwords(kind)
    pieces = one.encode_with_offsets(text)
    split = words(text)
    assert [piece.id for piece in pieces] == one.encode(text)
    assert sorted({piece.word for piece in pieces}) == list(range(len(split)))
    for number, word in enumerate(split):
        ids = [piece.id for piece in pieces if piece.word == number]
        assert ids == one.encode(word)
        assert word in text[min(p.start for p in pieces if p.word == number) :]


def test_offsets_point_into_the_text() -> None:
    text = "  The dogs,  läuft"
    spans = [
        (text[piece.start : piece.end].strip(), piece.word) for piece in subwords("word").encode_with_offsets(text)
    ]
    assert spans == [("The", 0), ("dogs", 1), (",", 1), ("läuft", 2)]


def test_unknowns_are_listed_once() -> None:
    assert subwords().unknowns("Ein Qualm, 漢字 漢 Q") == ("Q", "漢", "字")
    assert subwords("bpe", True).unknowns("漢字") == ()
    assert subwords("word").unknowns("the Qualm dogs Qualm") == ("Qualm",)


def test_decoding_leaves_out_what_the_program_added() -> None:
    one = subwords()
    assert one.decode([BOS, *one.encode("The dogs"), EOS, PAD, PAD]) == "The dogs"
    assert one.decode_batch([[EOS], one.encode("men")]) == ["", "men"]
    assert subwords("word").decode([UNK, *subwords("word").encode("dogs"), UNK]) == "<unk> dogs <unk>"


@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_json_round_trip(kind: str, byte_fallback: bool) -> None:
    if byte_fallback and kind == "word":
        return
    one = subwords(kind, byte_fallback)
    again = Subwords.from_json(one.to_json())
    assert again == one
    assert again.fingerprint == one.fingerprint
    assert again.kind == kind
    assert again.pieces[:4] == SPECIALS
    assert len(again) == len(one) == len(one.pieces)
    assert again.encode("a<s>b The dogs") == one.encode("a<s>b The dogs")


def test_a_pair_keeps_what_it_shares() -> None:
    joint = SubwordPair(subwords(), subwords())
    apart = SubwordPair(subwords(), subwords("unigram"))
    for one in (joint, apart):
        again = SubwordPair.from_json(one.to_json())
        assert again == one
        assert again.joint == one.joint
        assert again.fingerprint == one.fingerprint
    assert joint.fingerprint != apart.fingerprint


def test_what_is_not_a_vocabulary_is_refused() -> None:
    with pytest.raises(RegardError, match=r"not a tokenizer\.json"):
        Subwords.from_json("{}")
    with pytest.raises(RegardError, match="the first ids must be <pad>, <unk>, <s>, </s>"):
        Subwords.from_json(subwords().to_json().replace("<pad>", "<nil>"))
