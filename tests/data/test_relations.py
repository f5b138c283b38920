from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.image_files import read_images
from regard.data.relations import ANSWERS, COLORS, relation_pictures, write_relations


def told(picture: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Where the objects are and what they are, from the pixels alone."""
    places, shapes = [], []
    for color in COLORS:
        inside = np.argwhere((picture == color).all(-1))
        places.append(inside.mean(0))
        high, wide = np.ptp(inside, axis=0) + 1
        shapes.append("square" if len(inside) == high * wide else "circle")
    return np.array(places), shapes


def test_answers_are_what_the_picture_shows() -> None:
    made = relation_pictures(4, seed=3)
    for question, which, label, kind in zip(
        made["questions"], made["which"], made["labels"], made["kinds"], strict=True
    ):
        places, shapes = told(made["pictures"][which])
        color, relational, asked = (int(part.argmax()) for part in np.split(question, [6, 8]))
        assert relational == kind
        away = np.linalg.norm(places - places[color], axis=1)
        if relational:
            others = np.delete(np.arange(6), color)
            nearest, farthest = others[away[others].argmin()], others[away[others].argmax()]
            expected = [shapes[nearest], shapes[farthest], str(shapes.count(shapes[color]))][asked]
        else:
            left, top = places[color, 1] < 37.5, places[color, 0] < 37.5
            expected = [shapes[color], "yes" if left else "no", "yes" if top else "no"][asked]
        assert label == expected
    assert set(made["labels"]) <= set(ANSWERS)
    assert len(made["labels"]) == 80
    assert made["kinds"].mean() == 0.5


def test_equal_seeds_give_equal_pictures() -> None:
    one, other, third = (relation_pictures(2, seed=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert not np.array_equal(one["pictures"], third["pictures"])


def test_files_are_read_back(tmp_path: Path) -> None:
    made = write_relations(tmp_path, {"train": 3}, size=40)
    whole, relational = read_images(made["train"]), read_images(made["train-relational"])
    assert (len(whole.which), len(relational.which), whole.shape) == (60, 30, (3, 40, 40))
    assert relational.questions is not None
    assert bool((relational.questions[:, 7] == 1).all())


def test_wrong_sizes() -> None:
    with pytest.raises(ConfigError, match="size must be at least 30"):
        relation_pictures(1, size=10)
