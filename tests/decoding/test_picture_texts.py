"""Vectors of pictures and texts, and which belong together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.data.captioned import CaptionSet
from regard.data.framed import Frame
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.picture_texts import PictureTexts
from regard.models.clip import Clip

TEXTS = ["a dark square", "a bright square", "a circle"]


def opened(**settings: Any) -> PictureTexts:
    torch.manual_seed(1)
    subwords = learn_subwords(TEXTS, SubwordSettings(kind="word", min_count=1))
    design = Clip(layers=1, width=16, heads=2, patch=4, vector=6, **settings)
    model = design.build({"text": len(subwords), "channels": 1, "height": 8, "width": 8})
    return PictureTexts(model.eval(), subwords, Shades((0.5,), (0.2,)), Shape(1, 8, 8), frame=Frame())


def pictures(count: int = 3) -> np.ndarray:
    return np.random.default_rng(1).random((count, 8, 8)).astype(np.float32)


def test_each_input_has_its_own_vector(tmp_path: Path) -> None:
    pairs = opened()
    texts, seen = pairs.embed(TEXTS), pairs.embed(pictures())
    np.testing.assert_allclose(np.linalg.norm(np.concatenate((texts, seen)), axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(pairs.embed(TEXTS[1:2]), texts[1:2], atol=1e-6)
    image = pytest.importorskip("PIL.Image")
    image.fromarray((255 * pictures()[0]).astype(np.uint8)).save(tmp_path / "one.png")
    mixed = pairs.embed([TEXTS[2], str(tmp_path / "one.png")])
    np.testing.assert_allclose(mixed[0], texts[2], atol=1e-6)
    np.testing.assert_allclose(mixed[1], seen[0], atol=0.05)  # of 256 shades
    with pytest.raises(UsageError, match="there is nothing to embed"):
        pairs.embed([])


def test_what_is_found_is_counted_by_a_loop() -> None:
    pairs, given = opened(), pictures(6)
    captions = tuple(TEXTS[at % 3] for at in range(6))
    found = pairs.found(CaptionSet(torch.from_numpy(given)[:, None], captions))
    likeness = pairs.embed(given) @ pairs.embed(TEXTS).T
    right = sum(TEXTS[max(range(3), key=lambda text: likeness[at, text])] == captions[at] for at in range(6))
    back = sum(captions[max(range(6), key=lambda at: likeness[at, text])] == TEXTS[text] for text in range(3))
    assert found == pytest.approx({"captions_found": right / 6, "pictures_found": back / 3})
    assert pairs.captions(given, TEXTS) == [TEXTS[int(row.argmax())] for row in likeness]


def test_matching_looks_at_both() -> None:
    told = opened(cross_layers=1).match(pictures(2), TEXTS[:2])
    assert told.shape == (2,) and ((told > 0) & (told < 1)).all()
    with pytest.raises(UsageError, match="2 pictures, but 1 texts"):
        opened(cross_layers=1).match(pictures(2), TEXTS[:1])
    with pytest.raises(UsageError, match="has two towers alone"):
        opened().match(pictures(1), TEXTS[:1])
