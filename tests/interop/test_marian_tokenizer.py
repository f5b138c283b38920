"""The tokenizer of a Marian folder, against the rules of SentencePiece and `vocab.json`."""

import json
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import PAD, UNK
from regard.interop.marian_tokenizer import file_content, read_marian
from tests.data.subwords.test_formats import SPECIAL_PIECES, sentencepiece

SOURCE = [("▁a", -1.0, 1), ("▁", -2.0, 1), ("b", -3.0, 1), ("ab", -1.5, 1), ("zz", -4.0, 1)]
TARGET = [("▁a", -2.5, 1), ("▁", -2.0, 1), ("c", -3.0, 1), ("▁ab", -9.0, 1), ("b", -4.0, 1), ("a", -4.0, 1)]
NUMBERS = {"</s>": 0, "<unk>": 1, "▁a": 2, "b": 3, "c": 4, "▁": 5, "ab": 6, "▁ab": 7, "a": 8, ">>de<<": 9, "<pad>": 10}


def written(folder: Path, numbers: dict[str, int] | None = None, kind: int = 1) -> Path:
    for name, pieces in (("source", SOURCE), ("target", TARGET)):
        (folder / f"{name}.spm").write_bytes(sentencepiece(kind, [*SPECIAL_PIECES, *pieces]))
    (folder / "vocab.json").write_text(json.dumps(NUMBERS if numbers is None else numbers), encoding="utf-8")
    return folder


def test_each_side_is_cut_by_its_own_model_and_numbered_by_one_vocabulary(tmp_path: Path) -> None:
    subwords, orders, files = read_marian(written(tmp_path))
    assert len(subwords["source"]) == len(subwords["target"]) == len(orders["source"]) == len(orders["target"])
    assert orders["source"] == orders["target"]
    there = {side: [orders[side][number] for number in subwords[side].encode("ab")] for side in subwords}
    assert there == {"source": [NUMBERS["▁"], NUMBERS["ab"]], "target": [NUMBERS["▁a"], NUMBERS["b"]]}
    assert [orders["source"][number] for number in subwords["source"].encode("b ab")] == [5, 3, 5, 6]
    # c is a piece of the target alone
    assert [orders["source"][number] for number in subwords["source"].encode("c")] == [5, 1]
    assert [orders["target"][number] for number in subwords["target"].encode("c")] == [5, 4]
    assert set(files) == {"source.spm", "target.spm", "vocab.json"}
    assert file_content(files["source.spm"], "x") == (tmp_path / "source.spm").read_bytes()


def test_pieces_of_the_other_side_are_decoded_as_they_are(tmp_path: Path) -> None:
    subwords, orders, _ = read_marian(written(tmp_path))
    number = orders["target"].index(NUMBERS["ab"])  # of the source's model alone
    assert subwords["target"].decode([orders["target"].index(NUMBERS["▁a"]), number]) == "aab"


def test_pieces_without_a_number_are_unknown_there(tmp_path: Path) -> None:
    subwords, orders, _ = read_marian(written(tmp_path))
    (_, number) = subwords["source"].encode("zz")
    assert number not in (UNK, PAD)
    assert orders["source"][number] == NUMBERS["<unk>"]


def test_language_codes_are_tokens(tmp_path: Path) -> None:
    subwords, orders, _ = read_marian(written(tmp_path))
    assert [orders["source"][number] for number in subwords["source"].encode(">>de<< ab")] == [9, 5, 6]


def test_separate_vocabularies(tmp_path: Path) -> None:
    written(tmp_path)
    other = {"</s>": 0, "<unk>": 1, "c": 2, "▁": 3, "<pad>": 4}
    (tmp_path / "target_vocab.json").write_text(json.dumps(other), encoding="utf-8")
    subwords, orders, _ = read_marian(tmp_path)
    assert [orders["target"][number] for number in subwords["target"].encode("c")] == [3, 2]
    assert len(orders["source"]) != len(orders["target"])


def test_what_is_missing_or_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"has no source.spm; the tokenizer of Marian is source.spm, target.spm and"):
        read_marian(tmp_path)
    written(tmp_path, {"▁a": -3, "<unk>": 1})
    with pytest.raises(RegardError, match=r"vocab.json: must give every piece a number"):
        read_marian(tmp_path)
    written(tmp_path, {"▁a": 3})
    with pytest.raises(RegardError, match=r"vocab.json: has no <unk>"):
        read_marian(tmp_path)
    written(tmp_path)
    (tmp_path / "target.spm").write_bytes(b"no model")
    with pytest.raises(RegardError, match=r"target.spm: not a SentencePiece model"):
        read_marian(tmp_path)
    with pytest.raises(RegardError, match="the kept file is damaged"):
        file_content("base64,?", "m: source.spm")
