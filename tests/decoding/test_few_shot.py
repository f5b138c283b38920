"""New classes are told from what is shown."""

import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.data.episode_draws import EpisodeSettings
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.decoding.few_shot import FewShot
from regard.decoding.few_shot_methods.maml import Maml
from regard.decoding.few_shot_methods.prototypes import Prototypes
from regard.models.cnn import Cnn


def few(method: Prototypes | Maml, outputs: int) -> FewShot:
    torch.manual_seed(1)
    model = Cnn(stage_widths=(4,), stage_strides=(1,), pooling="flat").build(
        {"channels": 1, "height": 4, "width": 4, "classes": outputs}
    )
    return FewShot(model.eval(), Shades((0.5,), (0.5,)), Shape(1, 4, 4), method, EpisodeSettings(ways=2))


def pictures() -> np.ndarray:
    draw = np.random.default_rng(1)
    sides = np.zeros((2, 4, 4))
    sides[0, :2], sides[1, :, :2] = 1, 1
    return np.stack([sides[at % 2] + 0.01 * draw.normal(size=(4, 4)) for at in range(6)]).astype(np.float32)


@pytest.mark.parametrize(("method", "outputs"), [(Prototypes(), 5), (Maml(steps=30, rate=1.0), 2)])
def test_new_classes_are_told(method: Prototypes | Maml, outputs: int) -> None:
    shown = pictures()
    assert few(method, outputs).tell(shown[:2], ["top", "left"], shown[2:]) == ["top", "left"] * 2


def test_vectors_are_those_that_are_compared() -> None:
    opened = few(Prototypes(), 5)
    with torch.no_grad():
        expected = opened.model(torch.from_numpy(pictures()[:, None] - 0.5) / 0.5)
    np.testing.assert_allclose(opened.embed(pictures()), expected, rtol=1e-5, atol=1e-6)
    assert few(Maml(), 2).embed(pictures()).shape == (6, 4)


def test_mistakes_are_one_sentence() -> None:
    opened = few(Maml(), 2)
    with pytest.raises(UsageError, match="3 pictures, but 2 labels"):
        opened.tell(pictures()[:3], ["a", "b"], pictures()[3:])
    for labels in (["a", "a", "a"], ["a", "b", "c"]):
        with pytest.raises(UsageError, match="two classes at least, and 2 at most, as in training, but are of"):
            opened.tell(pictures()[:3], labels, pictures()[3:])
