import json
from pathlib import Path

import pytest

from regard.base.errors import RegardError, UsageError
from regard.interop.export_folder import MANIFEST, making, read_manifest, read_tokenizers, write_manifest
from regard.runs.artifact import Artifact

ARTIFACT = Artifact(
    config={"model": {"name": "transformer"}},
    task="translate",
    sizes={"source": 7, "target": 9},
    tokenizers={"source": "{}", "target": '{"ä": 1}'},
    extras={"max_source": 4},
)


def written(folder: Path) -> Path:
    with making(folder) as inside:
        write_manifest(inside, "onnx", ARTIFACT, "abc", graphs=2)
    return folder


def test_what_was_written_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "export")
    manifest = read_manifest(folder, "onnx")
    assert (manifest.made_from, manifest.vocabularies, manifest.details) == ("abc", (7, 9), {"graphs": 2})
    assert (manifest.config, manifest.extras) == (ARTIFACT.config, ARTIFACT.extras)
    assert read_tokenizers(folder, manifest) == ARTIFACT.tokenizers
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_one_vocabulary_is_one_file(tmp_path: Path) -> None:
    shared = Artifact(
        config={}, task="translate", sizes={"source": 7, "target": 7}, tokenizers={"source": "{}", "target": "{}"}
    )
    write_manifest(tmp_path, "onnx", shared, "abc")
    assert sorted(path.name for path in tmp_path.iterdir()) == [MANIFEST, "tokenizer.json"]


def test_a_failure_leaves_nothing_or_what_was_there(tmp_path: Path) -> None:
    folder = written(tmp_path / "export")
    before = (folder / MANIFEST).read_bytes()
    for place in (folder, tmp_path / "other"):
        with pytest.raises(KeyError), making(place, force=True) as inside:
            (inside / "half").write_text("a")
            raise KeyError
    assert [path.name for path in tmp_path.iterdir()] == ["export"]
    assert (folder / MANIFEST).read_bytes() == before


def test_only_an_export_is_replaced_and_only_by_force(tmp_path: Path) -> None:
    folder = written(tmp_path / "export")
    with pytest.raises(UsageError, match="there already; choose another name, or replace it with --force"):
        making(folder).__enter__()
    with making(folder, force=True) as inside:
        (inside / "new").write_text("a")
    assert [path.name for path in folder.iterdir()] == ["new"]
    with pytest.raises(UsageError, match="no export, so it is not replaced"):
        making(folder, force=True).__enter__()
    with pytest.raises(RegardError, match="there is no folder"):
        making(tmp_path / "none" / "export").__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_what_is_no_export_of_the_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="holds no export"):
        read_manifest(tmp_path, "onnx")
    folder = written(tmp_path / "export")
    with pytest.raises(UsageError, match="an export for onnx, not for ctranslate2"):
        read_manifest(folder, "ctranslate2")
    (folder / MANIFEST).write_text(json.dumps({"kind": "other"}))
    with pytest.raises(RegardError, match="cannot be read"):
        read_manifest(folder, "onnx")
    (folder / MANIFEST).write_text("{")
    with pytest.raises(RegardError, match="cannot be read"):
        read_manifest(folder, "onnx")


def test_a_flipped_bit_is_found_in_every_file(tmp_path: Path) -> None:
    folder = written(tmp_path / "export")
    read_manifest(folder, "onnx")
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        for at in range(0, len(content), max(1, len(content) // 40)):
            path.write_bytes(content[:at] + bytes([content[at] ^ 0b100]) + content[at + 1 :])
            with pytest.raises(RegardError, match=r"cannot be read|is damaged|not UTF-8|of version"):
                read_manifest(folder, "onnx")
        path.write_bytes(content)


def test_an_export_without_hashes_is_still_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "export")
    content = json.loads((folder / MANIFEST).read_text())
    del content["checksum"], content["files"]
    (folder / MANIFEST).write_text(json.dumps(content))
    assert read_manifest(folder, "onnx").made_from == "abc"
