"""What is written of a classifier's answers."""

from pathlib import Path

import pytest
import torch

from regard.base.errors import UsageError
from regard.tasks.class_outputs import write_classes

TRUE, CHANCES = torch.tensor([0, 1]), torch.tensor([[0.9, 0.1], [0.6, 0.4]])


def test_labels_are_lines_and_pictures_are_pictures(tmp_path: Path) -> None:
    write_classes(tmp_path / "out.txt", ["a", "a"], TRUE, CHANCES, ["a", "b"])
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "a\na\n"
    for name, start in (("out.png", b"\x89PNG"), ("out.svg", b"<?xml")):
        write_classes(tmp_path / name, ["a", "a"], TRUE, CHANCES, ["a", "b"])
        assert (tmp_path / name).read_bytes().startswith(start)


def test_several_labels_have_no_confusion_matrix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a confusion matrix is drawn of examples with one label each"):
        write_classes(tmp_path / "out.png", ["a", "a"], torch.eye(2), CHANCES, ["a", "b"])
    assert not (tmp_path / "out.png").exists()
