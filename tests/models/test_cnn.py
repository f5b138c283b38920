import pytest
import torch

from regard.base.errors import ConfigError
from regard.models.cnn import Cnn

SIZES = {"channels": 3, "height": 9, "width": 8, "classes": 3}


def test_maps_shrink_by_strides_and_coordinates_are_added() -> None:
    model = Cnn(stage_widths=(4, 8), stage_strides=(1, 2), coordinates="added").build(SIZES)
    assert model.grids == [(9, 8), (5, 4)]
    features, keep = model.encode(torch.randn(2, 3, 9, 8))
    assert list(features.shape) == [2, 20, 10]
    assert keep.all()
    rows, columns = features[0, :, 8].unflatten(0, (5, 4)), features[0, :, 9].unflatten(0, (5, 4))
    assert rows[:, 0].tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    torch.testing.assert_close(columns[0], torch.linspace(-1, 1, 4))


@pytest.mark.parametrize("pooling", ["mean", "max", "flat"])
def test_the_class_is_told_from_the_pooled_map(pooling: str) -> None:
    model = Cnn(stage_widths=(4,), stage_strides=(2,), pooling=pooling).build(SIZES).eval()  # type: ignore[arg-type]
    pictures = torch.randn(2, 3, 9, 8)
    features = model.encode(pictures)[0]
    pooled = {"mean": features.mean(1), "max": features.amax(1), "flat": features.flatten(1)}[pooling]
    torch.testing.assert_close(model(pictures), model.head(pooled))


def test_new_non_local_blocks_change_nothing() -> None:
    torch.manual_seed(1)
    plain = Cnn().build(SIZES)
    joined = Cnn(non_local=(1, 2, 2)).build(SIZES)
    missing = joined.load_state_dict(plain.state_dict(), strict=False)
    assert all(".blocks." in name for name in missing.missing_keys)
    pictures = torch.randn(2, 3, 9, 8)
    assert torch.equal(plain(pictures), joined(pictures))
    sight = joined.sight("layers.1.blocks.0")
    assert sight is not None
    assert (sight.rows, sight.columns) == (3, 2)


def test_a_question_is_joined_to_the_picture() -> None:
    model = Cnn(hidden=8).build(SIZES | {"question": 5}).eval()
    pictures, questions = torch.randn(2, 3, 9, 8), torch.eye(5)[:2]
    expected = model.head(torch.cat([model.encode(pictures)[0].mean(1), questions], 1))
    torch.testing.assert_close(model(pictures, questions), expected)
    with pytest.raises(ConfigError, match="was built with questions"):
        model(pictures)
    with pytest.raises(ConfigError, match="was built without questions"):
        Cnn().build(SIZES)(pictures, questions)


def test_a_question_may_attend_to_the_pixels() -> None:
    model = Cnn(hidden=8, pooling="asked").build(SIZES | {"question": 5}).eval()
    pictures, questions, which = torch.randn(2, 3, 9, 8), torch.eye(5)[:3], torch.tensor([1, 0, 1])
    assert model.reader is not None
    maps = model.reader.projections
    for some in (which, None):
        about = which if some is not None else torch.arange(2)
        expected = []
        for question, at in zip(questions, about, strict=False):
            pixels = model.encode(pictures)[0][at]
            weights = (maps["key"](pixels) @ maps["query"](question) / 8**0.5).softmax(0)
            expected.append(model.head(torch.cat([weights @ maps["value"](pixels), question])))
        torch.testing.assert_close(model(pictures, questions[: len(about)], some), torch.stack(expected))
    assert model.sight("reader") is None
    with pytest.raises(ConfigError, match="but the data asks none"):
        Cnn(pooling="asked").build(SIZES)


def test_a_question_may_scale_and_shift_channels() -> None:
    design = Cnn(stage_widths=(4, 6, 8), stage_strides=(2, 1, 1), asked_at=2, non_local=(3,), hidden=8)
    model = design.build(SIZES | {"question": 5}).eval()
    assert [layer.asked is not None for layer in model.layers] == [False, True, True]
    pictures, questions, which = torch.randn(2, 3, 9, 8), torch.eye(5)[:3], torch.tensor([1, 0, 1])
    answers = model(pictures, questions, which)
    alone = [model(pictures[at : at + 1], questions[row : row + 1]) for row, at in enumerate(which.tolist())]
    torch.testing.assert_close(answers, torch.cat(alone))
    layer = model.layers[1]
    x = torch.randn(1, 4, 5, 4)
    scale, shift = layer.asked(questions[:1]).chunk(2, dim=1)
    expected = ((1 + scale[..., None, None]) * layer.norm(layer.convolution(x)) + shift[..., None, None]).relu()
    torch.testing.assert_close(layer(x, questions[:1]), expected)
    with pytest.raises(ConfigError, match="asked_at must name a layer from 1 to 2"):
        Cnn(asked_at=3).build(SIZES | {"question": 5})
    with pytest.raises(ConfigError, match="but the data asks none"):
        Cnn(asked_at=1).build(SIZES)


def test_what_does_not_fit_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="stage_strides must be as many as stage_widths"):
        Cnn(stage_strides=(1,))
    with pytest.raises(ConfigError, match="must be 1 or more in each layer"):
        Cnn(stage_widths=(4, 0))
    with pytest.raises(ConfigError, match="non_local must name layers from 1 to 2"):
        Cnn(non_local=(3,)).build(SIZES)
