from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from regard.base.errors import RegardError, UsageError
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.decoding.image_classifier import ImageClassifier, label_numbers
from regard.models.vit import Vit


@pytest.fixture
def classifier() -> ImageClassifier:
    torch.manual_seed(1)
    model = Vit(layers=1, width=8, heads=2).build({"channels": 1, "height": 8, "width": 8, "classes": 3})
    with torch.no_grad():
        model.head.weight += torch.randn_like(model.head.weight)
    return ImageClassifier(model, ["a", "b", "c"], Shades((0.5,), (0.25,)), Shape(1, 8, 8), batch=2)


def test_probabilities_are_those_of_normalized_pictures(classifier: ImageClassifier, tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (5, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", pictures=pixels)
    found = classifier.probabilities(classifier.read(tmp_path / "a.npz"))
    normalized = (torch.from_numpy(pixels)[:, None] / 255 - 0.5) / 0.25
    with torch.no_grad():
        expected = classifier.model.eval()(normalized).softmax(-1)
    torch.testing.assert_close(found, expected)
    lines = classifier.predict([str(tmp_path / "a.npz")])
    assert [line.text.split("\t")[0] for line in lines] == ["abc"[at] for at in expected.argmax(-1).tolist()]
    assert [line.details["picture"] for line in lines] == ["0", "1", "2", "3", "4"]


def test_files_of_any_size_and_color(classifier: ImageClassifier, tmp_path: Path) -> None:
    Image.new("RGB", (30, 20), (9, 9, 9)).save(tmp_path / "wide.jpg")
    Image.new("L", (8, 8), 9).save(tmp_path / "same.png")
    one, other = classifier.classify([tmp_path / "wide.jpg", tmp_path / "same.png"])
    assert one.labels == other.labels
    assert len(classifier.predict([str(tmp_path)])) == 2


def test_wrong_lines_are_one_sentence(classifier: ImageClassifier, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 1 must be the name of a picture, but is empty"):
        classifier.predict([""])
    with pytest.raises(RegardError, match="there is no such file or folder"):
        classifier.predict([str(tmp_path / "no.png")])


def test_labels_are_numbered() -> None:
    assert label_numbers(["b", "a"], ["a", "b"], "x").tolist() == [1, 0]
    with pytest.raises(RegardError, match="x: the class 'c' does not occur in the training data; classes are: a, b"):
        label_numbers(["c"], ["a", "b"], "x")
    with pytest.raises(RegardError, match="x: its pictures have no classes"):
        label_numbers([], ["a"], "x")


def test_vectors_of_pictures_by_name_and_as_an_array(classifier: ImageClassifier, tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (3, 8, 8), dtype=np.uint8)
    names = [tmp_path / f"{at}.png" for at in range(3)]
    for name, one in zip(names, pixels, strict=True):
        Image.fromarray(one).save(name)
    by_name, as_array = classifier.embed(names), classifier.embed(pixels[:, None])
    np.testing.assert_allclose(by_name, as_array, atol=1e-6)
    normalized = (torch.from_numpy(pixels)[:, None] / 255 - 0.5) / 0.25
    with torch.no_grad():
        features, _ = classifier.model.eval().encode(normalized)
    np.testing.assert_allclose(classifier.embed(names, pooling="mean"), features.mean(1).numpy(), atol=1e-5)
    np.savez(tmp_path / "a.npz", pictures=pixels, labels=np.array(["x", "y", "x"]))
    found = classifier.examples(tmp_path / "a.npz")
    assert found.labels == ("x", "y", "x") and not found.are_texts
    with pytest.raises(UsageError, match="holds 3 pictures; give the name of one picture a line"):
        classifier.embed([tmp_path / "a.npz"])
