"""Languages told by file names."""

from pathlib import Path

import pytest

from regard.apps.languages import language_of


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("train.de", "de"),
        ("data.en/train.lc.norm.tok.de.gz", "de"),
        ("corpus.de.txt", "de"),
        ("train.pt_BR", "pt_BR"),
        ("train.zh-Hans.gz", "zh-Hans"),
        ("train.ces", "ces"),
        ("train.txt", None),
        ("pairs.tsv", None),
        ("train", None),
        ("de", None),
        ("train.2024", None),
        ("train.english", None),
    ],
)
def test_the_last_plausible_ending_is_the_language(name: str, code: str | None) -> None:
    assert language_of(Path(name)) == code
