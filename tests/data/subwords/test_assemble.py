"""The pipeline around a vocabulary: what counts as a piece's neighborhood, and how pieces become text again."""

import sys

import pytest
from tokenizers import models

from regard.data.subwords import assemble
from regard.data.subwords.tokenizer import SPECIALS, Subwords


def split(model: object, text: str) -> list[str]:
    return [piece for piece, _ in assemble.default_splitter(model).pre_tokenize_str(text)]


def test_punctuation_stands_apart() -> None:
    assert split(models.BPE(), "two dogs... (run)") == ["▁two", "▁dogs", "...", "▁", "(", "run", ")"]
    assert split(models.WordLevel(), "dogs...") == ["▁dogs", ".", ".", "."]
    assert split(models.WordLevel(), "«I_TURN_LEFT»") == ["▁", "«", "I_TURN_LEFT", "»"]


@pytest.mark.parametrize("name", [*SPECIALS, "<0x41>"])
def test_no_piece_spans_the_name_of_a_special_token(name: str) -> None:
    pieces = [piece for piece, _ in assemble.guard().pre_tokenize_str(f"a{name}b")]
    assert "".join(pieces) == f"a{name}b"
    assert not any(name in piece for piece in pieces)
    assert [piece for piece, _ in assemble.guard().pre_tokenize_str("a<b>c")] == ["a<b>c"]


def test_normalization_composes_and_squeezes() -> None:
    assert assemble.default_normalizer().normalize_str(" e\u0301\u3000\u2028▁x\t") == "\u00e9 x"


def test_models_put_special_tokens_first() -> None:
    for model in (
        assemble.bpe(["▁", "a"], [], byte_fallback=False),
        assemble.bpe(["▁", "a"], [], byte_fallback=True),
        assemble.unigram({"▁": -1.0, "a": -2.0}, byte_fallback=True),
        assemble.word_level(["▁a"]),
    ):
        one = Subwords(assemble.declare_specials(assemble.blank(model)))
        assert one.pieces[:4] == SPECIALS
        assert one.decode(one.encode(" a ")) == "a"
        assert assemble.content(one.tokenizer)["added_tokens"][3]["content"] == "</s>"


def test_bytes_become_characters() -> None:
    one = Subwords(assemble.declare_specials(assemble.blank(assemble.bpe(["▁"], [], byte_fallback=True))))
    assert one.decode(one.encode("ü 漢")) == "ü 漢"
    assert one.decode(one.encode("漢")[:-1]).strip("\ufffd") == ""  # half a character does not raise


def test_without_a_leading_mark_the_first_space_stays() -> None:
    assert assemble.default_decoder(True).decode(["▁a", "▁b"]) == "a b"
    assert assemble.default_decoder(False).decode(["▁a", "▁b"]) == " a b"


def test_unknown_characters_may_be_one_token() -> None:
    for fuse, count in ((True, 2), (False, 3)):
        model = assemble.bpe(["▁"], [], byte_fallback=False, fuse_unknown=fuse)
        assert len(Subwords(assemble.declare_specials(assemble.blank(model))).encode("xy")) == count


def test_all_white_space_of_python_is_known() -> None:
    assert "".join(one for one in map(chr, range(sys.maxunicode + 1)) if one.isspace()) == assemble.SPACES
