"""Vocabularies of others encode here as they do there, under our ids."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from regard.base.errors import RegardError
from regard.data.subwords.formats import load_subwords
from regard.data.subwords.tokenizer import SPECIALS, UNK, Subwords
from tests.data.examples import KINDS, LINES, subwords

TEXTS = (*LINES, "  spaces   here ", "ﬁne ½ … <s> x</s>", "漢字 Qualm", "")


def varint(value: int) -> bytes:
    head = b""
    while value > 0x7F:
        head, value = head + bytes([value & 0x7F | 0x80]), value >> 7
    return head + bytes([value])


def message(*fields: tuple[int, int | bytes | float]) -> bytes:
    """A protobuf message of numbers, texts and floats."""
    import struct

    out = b""
    for number, value in fields:
        match value:
            case int():
                out += varint(number << 3) + varint(value)
            case float():
                out += varint(number << 3 | 5) + struct.pack("<f", value)
            case bytes():
                out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def sentencepiece(kind: int, pieces: list[tuple[str, float, int]], rules: bytes = b"") -> bytes:
    written = [(1, message((1, text.encode()), (2, score), (3, type_))) for text, score, type_ in pieces]
    return message(*written, (2, message((3, kind), (35, 0))), (3, rules))


SPECIAL_PIECES = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]


def test_a_small_sentencepiece_unigram_model(tmp_path: Path) -> None:
    pieces = [*SPECIAL_PIECES, ("▁", -3.0, 1), ("a", -3.0, 1), ("b", -3.0, 1), ("▁ab", -2.0, 1), ("ab", -9.0, 1)]
    (tmp_path / "m.model").write_bytes(sentencepiece(1, pieces))
    one = load_subwords(tmp_path / "m.model")
    assert one.kind == "unigram"
    assert one.pieces == (*SPECIALS, "▁", "a", "b", "▁ab", "ab")
    assert [one.pieces[number] for number in one.encode(" ab  bab x")] == ["▁ab", "▁", "b", "a", "b", "▁", "<unk>"]
    assert one.decode(one.encode("ab bab")) == "ab bab"


def test_a_small_sentencepiece_bpe_model(tmp_path: Path) -> None:
    pieces = [*SPECIAL_PIECES, ("ab", -0.0, 1), ("▁ab", -1.0, 1), ("▁", -2.0, 1), ("a", -3.0, 1), ("b", -4.0, 1)]
    (tmp_path / "m.model").write_bytes(sentencepiece(2, pieces, message((3, 1), (4, 1))))
    one = load_subwords(tmp_path / "m.model")
    assert one.kind == "bpe"
    assert [one.pieces[number] for number in one.encode("ab aab xy")] == ["▁ab", "▁", "a", "ab", "▁", "<unk>"]


@pytest.mark.parametrize("rules", ["nmt_nfkc", "identity"])
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sentencepiece_agrees(kind: str, byte_fallback: bool, rules: str, tmp_path: Path) -> None:
    spm: Any = pytest.importorskip("sentencepiece", reason="compares with SentencePiece itself")
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_prefix=str(tmp_path / "m"),
        vocab_size=400 if byte_fallback else 140,
        hard_vocab_limit=False,
        model_type=kind,
        byte_fallback=byte_fallback,
        normalization_rule_name=rules,
        user_defined_symbols=["@@"],
        minloglevel=2,
    )
    theirs, ours = spm.SentencePieceProcessor(model_file=str(tmp_path / "m.model")), load_subwords(tmp_path / "m.model")
    for text in TEXTS:
        if "</s>" in text and not byte_fallback:
            continue  # both read it as characters; unknown ones in a row are counted differently around it
        numbers = theirs.encode(text)
        pieces = [SPECIALS[UNK] if number == theirs.unk_id() else theirs.id_to_piece(number) for number in numbers]
        assert [ours.pieces[number] for number in ours.encode(text)] == pieces
        assert theirs.unk_id() in numbers or ours.decode(ours.encode(text)) == theirs.decode(numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_our_own_file_comes_back(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(subwords(kind).to_json(), encoding="utf-8")
    again = load_subwords(path)
    assert again.pieces == subwords(kind).pieces
    assert again.encode_batch(TEXTS) == subwords(kind).encode_batch(TEXTS)


def foreign(kind: str) -> Tokenizer:
    """A tokenizer as others make them, with its specials elsewhere and sentence ends added by itself."""
    if kind == "byte-level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
        trainer: Any = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Whitespace(), decoders.WordPiece()
        names = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"]
        trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=names, show_progress=False)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
        trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=names, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(LINES, trainer)
    end = "[SEP]" if kind == "wordpiece" else "<|endoftext|>" if kind == "byte-level" else "</s>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, tokenizer.token_to_id(end))]
    )
    return tokenizer


@pytest.mark.parametrize("kind", ["byte-level", "wordpiece", "unigram"])
def test_a_foreign_tokenizer_is_adopted(kind: str, tmp_path: Path) -> None:
    theirs = foreign(kind)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = load_subwords(tmp_path / "tokenizer.json")
    assert ours.pieces[:4] == SPECIALS
    assert len(set(ours.pieces)) == len(ours.pieces)
    for text in LINES:
        assert [ours.pieces[number] for number in ours.encode(text)] == theirs.encode(
            text, add_special_tokens=False
        ).tokens
        assert ours.decode(ours.encode(text)) == theirs.decode(theirs.encode(text).ids)
    assert not {0, 2, 3} & set(ours.encode("dog <s> a</s>b <pad>"))
    again = Subwords.from_json(ours.to_json())
    assert again.encode_batch(TEXTS) == ours.encode_batch(TEXTS)


def test_a_word_like_mask_stays_one_token(tmp_path: Path) -> None:
    foreign("unigram").save(str(tmp_path / "t.json"))
    ours = load_subwords(tmp_path / "t.json")
    assert ours.pieces.index("<mask>") in ours.encode("dog <mask> grass")


@pytest.mark.parametrize(
    "content",
    [b"", b"nothing of the kind", b"\x0a\xff", b"{", b"{}", b'{"model": {"type": "BPE"}}', b'{"model": 3}', bytes(40)],
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(RegardError, match=r"x: n(either|ot)"):
        load_subwords(path)


def test_what_sentencepiece_kinds_are_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(sentencepiece(3, [*SPECIAL_PIECES, ("a", -1.0, 1)]))
    with pytest.raises(RegardError, match="unigram and bpe are read"):
        load_subwords(tmp_path / "m")


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    assert json.loads(subwords().to_json())["model"]["vocab"]["<pad>"] == 0
