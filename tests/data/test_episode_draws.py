"""Episodes: classes of one group, and no query among what is shown."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import ConfigError
from regard.data.episode_draws import ClassedImages, EpisodeMaker, EpisodeSettings, read_classes
from regard.data.image_files import Shape
from regard.data.images import Shades


def shades() -> Shades:
    return Shades((0.0,), (1.0,))


def marked(classes: int, examples: int, group: str = "") -> ClassedImages:
    """Pictures whose first pixel is the class, and whose second is the example."""
    pixels = torch.zeros(classes, examples, 1, 2, 2)
    pixels[:, :, 0, 0, 0] = torch.arange(classes)[:, None]
    pixels[:, :, 0, 0, 1] = torch.arange(examples)
    return ClassedImages(tuple(pixels), (group,) * classes, tuple(f"{group}{at}" for at in range(classes)))


def test_an_episode_shows_no_query() -> None:
    made = EpisodeMaker(marked(6, 5), EpisodeSettings(ways=4, shots=2, queries=3), shades())(
        np.random.default_rng(1), 3
    )
    assert made.count == 3 * 12
    for support, query in zip(made.support, made.query, strict=True):
        assert len({int(one[0, 0, 0]) for one in support}) == 4
        for way in range(4):
            shown = {tuple(one[0, 0].tolist()) for one in support[made.labels == way]}
            asked = {tuple(one[0, 0].tolist()) for one in query[made.wanted == way]}
            assert len({one[0] for one in shown | asked}) == 1 and not shown & asked
            assert len(shown) == 2 and len(asked) == 3
    halves = made.shares(2)
    assert sum(half.count for half in halves) == made.count and len(halves) == 2


def test_an_episode_stays_in_its_group_and_turns_make_classes() -> None:
    first, second = marked(3, 4, "a"), marked(3, 4, "b")
    both = ClassedImages(first.classes + tuple(one + 10 for one in second.classes), first.groups + second.groups,
                         first.names + second.names)  # fmt: skip
    made = EpisodeMaker(both, EpisodeSettings(ways=3, queries=1), shades())(np.random.default_rng(2), 20)
    seen = {tuple(sorted(int(one[0, 0, 0]) for one in support)) for support in made.support}
    assert seen == {(0, 1, 2), (10, 11, 12)}
    turned = both.turned()
    assert len(turned.classes) == 24 and len(set(turned.groups)) == 8
    assert torch.equal(turned.classes[6 + 1][2, 0], both.classes[1][2, 0].rot90(1))
    train, dev = both.parts(0.5, 1)
    assert len(set(train.groups)) == len(set(dev.groups)) == 1 and train.groups[0] != dev.groups[0]


def test_a_folder_of_alphabets_has_groups(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    for place in ("greek/a", "greek/b", "latin/a"):
        (tmp_path / "all" / place).mkdir(parents=True)
        image.fromarray(np.zeros((10, 10), np.uint8)).save(tmp_path / "all" / place / "1.png")
    found = read_classes(tmp_path / "all", Shape(None, 8, 8))
    assert found.shape == (1, 8, 8) and found.groups == ("all/greek", "all/greek", "all/latin")
    assert read_classes(tmp_path / "all" / "greek", Shape(*found.shape)).groups == ("greek/", "greek/")


@pytest.mark.parametrize("bad", [{"ways": 1}, {"shots": 0}, {"turns": 2}])
def test_settings_are_checked(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        EpisodeSettings(**bad)
