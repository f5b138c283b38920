"""Texts below the fields of dataclasses."""

from dataclasses import dataclass, make_dataclass
from pathlib import Path

import pytest

from regard.base.meanings import meanings

SOURCE = '''
from dataclasses import dataclass


@dataclass
class First:
    size: int = 1
    """how
    many"""
    silent: int = 2
    kind: str = ""
    """of which kind"""
    plain = 3
    """no field, for it has no type"""


@dataclass
class Second(First):
    kind: str = "other"
    silent: int = 3
    """tells it after all"""
'''


def test_the_nearest_text_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_settings.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import some_settings  # type: ignore[import-not-found]

    assert meanings(some_settings.First) == {"size": "how many", "kind": "of which kind"}
    assert meanings(some_settings.Second) == {
        "size": "how many",
        "kind": "of which kind",
        "silent": "tells it after all",
    }


def test_a_class_without_source_has_its_bases_texts() -> None:
    @dataclass
    class Here:
        size: int
        """how many"""

    made = make_dataclass("Made", [("other", int)], bases=(Here,))
    assert "other" not in meanings(made)
    assert meanings(int) == {}
