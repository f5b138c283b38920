from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.puzzles.folder_bytes import FolderBytes


def test_pieces_of_files_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    for name, text in (("a", "xyz" * 30), ("b", "äöü" * 3)):
        (tmp_path / "texts" / name).mkdir(parents=True)
        (tmp_path / "texts" / name / "one.txt").write_text(text, encoding="utf-8")
        (tmp_path / "texts" / name / "empty.txt").touch()
    puzzle = FolderBytes(length=20).found_in(tmp_path)
    assert puzzle.answers == 2
    draw = np.random.default_rng(1)
    for _ in range(20):
        row, answer = puzzle.draw(draw)
        text = bytes((row - 1).astype(np.uint8))
        assert text in ((b"xyz" * 30) if answer == 0 else "äöü".encode() * 3)
        assert len(row) == (20 if answer == 0 else 18)


def test_a_folder_without_classes_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no folder; it must have a subfolder for each class"):
        _ = FolderBytes().found_in(tmp_path / "gone").answers
    (tmp_path / "texts" / "only").mkdir(parents=True)
    with pytest.raises(ConfigError, match="must have at least two subfolders with files in each"):
        _ = FolderBytes().found_in(tmp_path).answers
