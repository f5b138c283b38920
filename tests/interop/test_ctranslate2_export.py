import json
from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import UsageError
from regard.base.files import digest
from regard.data.subwords.tokenizer import EOS, Subwords
from regard.decoding.shortlist import Shortlist
from regard.interop.ctranslate2_export import export_ctranslate2, model_pieces, write_shortlist
from regard.interop.export_folder import read_manifest
from tests.data.examples import subwords
from tests.interop.examples import shortlist

pytest.importorskip("ctranslate2")


def test_the_folder_has_all_that_is_needed(exported: Path, trained: Path) -> None:
    names = {path.name for path in exported.iterdir()}
    assert names == {"config.json", "model.bin", "regard.json", "shared_vocabulary.json", "tokenizer.json"}
    manifest = read_manifest(exported, "ctranslate2")
    assert manifest.made_from == digest(trained)
    assert manifest.details["attention"] == {"layer": 1, "heads": [2, 0], "shift": 1}
    known = Subwords.from_json((exported / "tokenizer.json").read_text(encoding="utf-8"))
    assert json.loads((exported / "shared_vocabulary.json").read_text(encoding="utf-8")) == list(known.pieces)


def test_eight_bits_take_less_room(trained: Path, exported: Path, tmp_path: Path) -> None:
    small = export_ctranslate2(trained, tmp_path / "small", "int8")
    size = [(folder / "model.bin").stat().st_size for folder in (small, exported)]
    assert read_manifest(small, "ctranslate2").details["quantization"] == "int8"
    assert size[0] < size[1] * 0.9  # the positions stay as they are


def test_wrong_use_is_said_before_anything_is_written(trained: Path, exported: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown 'int9' .*kinds are: bfloat16"):
        export_ctranslate2(trained, tmp_path / "out", "int9")
    with pytest.raises(UsageError, match="there already"):
        export_ctranslate2(trained, exported)
    assert not list(tmp_path.iterdir())


def test_a_shortlist_becomes_a_map_of_words(listed: Path, exported: Path) -> None:
    known = Subwords.from_json((listed / "tokenizer.json").read_text(encoding="utf-8"))
    wanted = shortlist()
    lines = (listed / "vmap.txt").read_text(encoding="utf-8").splitlines()
    found = {source: targets.split(" ") for source, targets in (line.split("\t") for line in lines)}
    assert found.pop("") == [known.pieces[at] for at in [*wanted.frequent, *wanted.translations[EOS]]]
    lists = zip(known.pieces, wanted.translations, strict=True)
    assert found == {piece: [known.pieces[at] for at in own] for piece, own in lists if len(own)}
    assert not (exported / "vmap.txt").exists()


def test_a_map_of_pieces_with_spaces_is_not_written(tmp_path: Path) -> None:
    made = Shortlist([np.array(own, dtype=np.int64) for own in ([2], [], [], [0])], np.array([1]), 3)
    write_shortlist(tmp_path / "spaces.txt", made, ["a", "b", "c", "</s>"], ["x", "y", " z"])
    nothing = np.array([], dtype=np.int64)
    write_shortlist(tmp_path / "empty.txt", Shortlist([nothing] * 4, nothing, 3), [*"abcd"], [*"xyz"])
    assert not list(tmp_path.iterdir())
    write_shortlist(tmp_path / "none.txt", made, ["a", "b", "c", "</s>"], ["x", "y", "z"])
    assert (tmp_path / "none.txt").read_text() == "\ty x\na\tz\n</s>\tx\n"


def test_ids_without_a_piece_get_a_name() -> None:
    known = subwords()
    pieces = model_pieces(known, len(known) + 2)
    assert pieces[: len(known)] == list(known.pieces)
    assert pieces[len(known) :] == [f"<unused {len(known)}>", f"<unused {len(known) + 1}>"]
