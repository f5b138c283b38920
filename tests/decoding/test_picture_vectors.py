from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.decoding.picture_vectors import PictureVectors
from regard.models.vit import Vit

PIXELS = np.random.default_rng(1).integers(0, 256, (3, 4, 4), dtype=np.uint8)


@pytest.fixture
def opened() -> PictureVectors:
    torch.manual_seed(1)
    model = Vit(layers=1, width=8, heads=2, patch=2).build({"channels": 1, "height": 4, "width": 4, "classes": 2})
    return PictureVectors(model, Shades((0.5,), (0.5,)), Shape(1, 4, 4), batch=2)


def test_files_and_arrays_have_the_same_vectors(opened: PictureVectors, tmp_path: Path) -> None:
    whole = opened.embed(PIXELS)
    with torch.no_grad():
        features, _ = opened.model.eval().encode((torch.from_numpy(PIXELS)[:, None] / 255 - 0.5) / 0.5)
    np.testing.assert_allclose(whole, features.mean(1), atol=1e-6)
    for at, picture in enumerate(PIXELS):
        np.savez(tmp_path / f"{at}.npz", pictures=picture[None], labels=["one"])
    np.testing.assert_allclose(opened.embed([tmp_path / f"{at}.npz" for at in range(3)]), whole, atol=1e-6)


def test_examples_are_pictures_with_a_label_each(opened: PictureVectors, tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", pictures=PIXELS, labels=["one", "two", "one"])
    found = opened.examples(tmp_path / "all.npz")
    assert found.labels == ("one", "two", "one")
    np.testing.assert_array_equal(found.inputs[:, 0], PIXELS)
    with pytest.raises(UsageError, match=r"all\.npz holds 3 pictures; give the name of one picture a line"):
        opened.embed([tmp_path / "all.npz"])
    np.save(tmp_path / "bare.npy", PIXELS)
    with pytest.raises(RegardError, match=r"bare\.npy: must hold pictures with a label each"):
        opened.examples(tmp_path / "bare.npy")
