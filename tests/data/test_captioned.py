"""Tables and arrays of pictures with captions."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.data.captioned import CaptionBatch, CaptionSet, captions_from, looks_captioned, read_captions
from regard.data.framed import Frame, batch_of
from regard.data.row_sources.sprites import Sprites


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("a.png\n", "line 1: must be the name of a picture and its caption"),
        ("gone.png\ta dog\n", "gone.png: there is no such file"),
        ("\n", "there are no captions"),
    ],
)
def test_bad_tables(lines: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(lines, encoding="utf-8")
    with pytest.raises(RegardError, match=words):
        read_captions(tmp_path / "pairs.tsv")


def test_bad_arrays(tmp_path: Path) -> None:
    pictures = np.zeros((5, 8, 8), np.float32)
    np.savez(tmp_path / "few.npz", pictures=pictures, captions=np.array(["a", "b"]))
    with pytest.raises(RegardError, match=r"few\.npz: there are 5 pictures, but 2 captions"):
        read_captions(tmp_path / "few.npz")
    np.savez(tmp_path / "none.npz", pictures=pictures)
    with pytest.raises(RegardError, match="must hold the arrays pictures and captions"):
        read_captions(tmp_path / "none.npz")


def test_a_table_of_files(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for at, side in enumerate((6, 8)):
        image.fromarray(np.full((side, side), 100 * at, np.uint8)).save(tmp_path / f"{at}.png")
    (tmp_path / "pairs.tsv").write_text("0.png\tdark\n\n1.png\tgray\n", encoding="utf-8")
    found = read_captions(tmp_path / "pairs.tsv")
    assert found.captions == ("dark", "gray") and found.pixels.shape == (2, 1, 6, 6)
    assert int(found.pixels[1, 0, 3, 3]) == 100 and looks_captioned(tmp_path / "pairs.tsv")
    (tmp_path / "other.tsv").write_text("a dog\tein Hund\n", encoding="utf-8")
    assert not looks_captioned(tmp_path / "other.tsv")


def test_captions_tell_the_factors() -> None:
    source = Sprites(sizes=3, angles=2, places=2)
    found = captions_from(source, "data.source")
    assert found.captions[0] == "a small square in column A of row one"
    assert found.captions[-1] == "a large triangle in column B of row two"
    factors = source.rows().factors
    assert factors is not None
    told: dict[str, set[tuple[int, ...]]] = {}
    for caption, row in zip(found.captions, factors.tolist(), strict=True):
        told.setdefault(caption, set()).add((row[0], row[1], row[3], row[4]))
    assert len(told) == 3 * 3 * 2 * 2 and all(len(own) == 1 for own in told.values())


def test_the_same_captions_are_known_and_parts_are_apart() -> None:
    texts = batch_of([Frame().row([ids]) for ids in ([4, 5], [6], [4, 5])])
    batch = CaptionBatch(torch.zeros(3, 1, 2, 2), texts)
    assert batch.same.tolist() == [[False, False, True], [False, False, False], [True, False, False]]
    whole = CaptionSet(torch.arange(10.0).reshape(10, 1, 1, 1), tuple(map(str, range(10))))
    train, held = whole.parts(0.2, seed=1)
    assert len(held) == 2 and sorted((*train.captions, *held.captions), key=int) == list(whole.captions)
    assert [str(int(one)) for one in train.pixels.flatten()] == list(train.captions)
