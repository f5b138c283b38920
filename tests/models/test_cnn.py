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


def test_waves_of_coordinates_tell_how_near_two_pixels_are() -> None:
    model = Cnn(stage_widths=(4,), stage_strides=(1,), coordinates="added", frequencies=2).build(SIZES)
    features = model.encode(torch.randn(1, 3, 9, 8))[0][0].unflatten(0, (9, 8))
    places, waves = features[..., 4:6], features[..., 6:].double()
    assert waves.shape[-1] == 8
    apart = (places[0, 0] - places[5, 3]).double() / 2 * torch.pi
    wanted = torch.cos(apart).sum() + torch.cos(2 * apart).sum()
    torch.testing.assert_close((waves[0, 0] * waves[5, 3]).sum(), wanted, atol=1e-6, rtol=0)
    with pytest.raises(ConfigError, match="frequencies are those of coordinates"):
        Cnn(frequencies=2).build(SIZES)


def test_a_kernel_of_one_looks_at_its_own_pixel_alone() -> None:
    model = Cnn(stage_widths=(4, 6), stage_strides=(1, 1), stage_kernels=(5, 1)).build(SIZES)
    assert [layer.convolution.kernel_size for layer in model.layers] == [(5, 5), (1, 1)]
    pictures = torch.randn(1, 3, 9, 8, requires_grad=True)
    seen = model.layers[1].convolution(model.layers[0].convolution(pictures))
    seen[0, :, 4, 4].sum().backward()
    assert pictures.grad is not None
    touched = pictures.grad[0].abs().sum(0).nonzero()
    assert touched.amin(0).tolist() == [2, 2]
    assert touched.amax(0).tolist() == [6, 6]
    assert len(touched) == 25
    kernels = {layer.convolution.kernel_size for layer in Cnn().build(SIZES).layers}
    assert kernels == {(3, 3)}


def test_the_relational_presets_differ_in_their_blocks_alone() -> None:
    sizes = {"channels": 3, "height": 40, "width": 40, "classes": 10, "question": 11}
    plain, joined = (
        Cnn(**Cnn.presets[name], asked_at=5).build(sizes).state_dict() for name in ("relations", "non_local")
    )
    assert {name: joined[name].shape for name in plain} == {name: plain[name].shape for name in plain}
    assert {name.split(".")[2] for name in joined.keys() - plain.keys()} == {"blocks"}


def test_a_question_is_answered_by_one_linear_layer() -> None:
    sizes = {**SIZES, "question": 5}
    model = Cnn(stage_widths=(4,), stage_strides=(2,), answer="linear").build(sizes).eval()
    pictures, questions, which = torch.randn(2, 3, 9, 8), torch.randn(3, 5), torch.tensor([0, 1, 1])
    pooled = model.encode(pictures)[0].mean(1)[which]
    wanted = torch.cat([pooled, questions], dim=1) @ model.head.weight.T + model.head.bias
    torch.testing.assert_close(model(pictures, questions, which), wanted)


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


def test_products_of_pixels_may_be_divided_by_the_root_of_their_width() -> None:
    torch.manual_seed(1)
    plain, scaled = (Cnn(non_local=(1,), product_scale=scale).build(SIZES) for scale in ("none", "width"))  # type: ignore[arg-type]
    with torch.no_grad():
        plain.layers[0].blocks[0].output.weight.normal_()
        scaled.load_state_dict(plain.state_dict())
        scaled.layers[0].blocks[0].query.weight *= 16**0.5  # half of 32 channels
    pictures = torch.randn(2, 3, 9, 8)
    torch.testing.assert_close(plain(pictures), scaled(pictures), rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigError, match="product_scale is for kinds that multiply two pixels"):
        Cnn(kind="concatenation", product_scale="width")


def test_a_question_is_joined_to_the_picture() -> None:
    model = Cnn(hidden=8).build(SIZES | {"question": 5}).eval()
    pictures, questions = torch.randn(2, 3, 9, 8), torch.eye(5)[:2]
    expected = model.head(torch.cat([model.encode(pictures)[0].mean(1), questions], 1))
    torch.testing.assert_close(model(pictures, questions), expected)
    with pytest.raises(
        ConfigError, match="was built for questions of 5 numbers about pictures, but is given no questions"
    ):
        model(pictures)
    with pytest.raises(ConfigError, match=r"was built for .* 5 numbers about pictures, but is given .* 4 numbers"):
        model(pictures, questions[:, :4])
    with pytest.raises(ConfigError, match="was built for no questions about pictures, but is given questions of 5"):
        Cnn().build(SIZES)(pictures, questions)


@pytest.mark.parametrize("keys_at", [None, 1])
def test_a_question_may_attend_to_the_pixels(keys_at: int | None) -> None:
    design = Cnn(stage_widths=(4, 6), stage_strides=(2, 1), heads=2, hidden=8, pooling="asked", keys_at=keys_at)
    model = design.build(SIZES | {"question": 5}).eval()
    pictures, questions, which = torch.randn(2, 3, 9, 8), torch.eye(5)[:3], torch.tensor([1, 0, 1])
    reader = model.reader
    assert reader is not None
    first = model.layers[0](pictures).flatten(2).transpose(1, 2)
    last = model.encode(pictures)[0]
    for some in (which, None):
        about = which if some is not None else torch.arange(2)
        expected = []
        for question, at in zip(questions, about, strict=False):
            compared = first[at] if keys_at else last[at]
            query, key, value = reader.query(question), reader.key(compared), reader.value(last[at])
            read = []
            for head in (slice(0, 8), slice(8, 16)):
                weights = (key[:, head] @ query[head]).softmax(0)
                read.append(20**0.5 * weights @ value)
            expected.append(model.head(torch.cat([*read, question])))
        torch.testing.assert_close(model(pictures, questions[: len(about)], some), torch.stack(expected))
    assert model.sight("reader") is None
    with pytest.raises(ConfigError, match="but the data asks none"):
        Cnn(pooling="asked").build(SIZES)
    with pytest.raises(ConfigError, match="keys_at must name a layer from 1 to 2, not 3"):
        Cnn(pooling="asked", keys_at=3).build(SIZES | {"question": 5})
    for wrong in (Cnn(pooling="asked", keys_at=1), Cnn(keys_at=2)):
        with pytest.raises(ConfigError, match="keys_at is for pooling = 'asked', and for layers after which"):
            wrong.build(SIZES | {"question": 5})


def test_batch_norm_forgets_the_company_after_training() -> None:
    torch.manual_seed(1)
    model = Cnn(stage_widths=(4, 8), norm="batch").build(SIZES)
    pictures = 5 * torch.randn(4, 3, 9, 8) + 2
    convolution, norm = model.layers[0].convolution, model.layers[0].norm
    made = convolution(pictures)
    mean, variance = made.mean((0, 2, 3)), made.var((0, 2, 3), unbiased=False)
    expected = ((made - mean[:, None, None]) / (variance[:, None, None] + norm.eps).sqrt()).relu()
    torch.testing.assert_close(model.layers[0](pictures), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(norm.running_mean, 0.1 * mean)
    for _ in range(20):
        model(pictures)
    model.eval()
    torch.testing.assert_close(model(pictures)[:1], model(pictures[:1]))
    assert not torch.allclose(model.layers[0](pictures), model.layers[0](pictures[:1] * 3)[:1])


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
    maps: list[int] = []
    layer.convolution.register_forward_hook(lambda part, given, made: maps.append(len(made)))
    model(pictures, questions, which)
    assert maps == [2], "the first layer that is asked sees a picture once, whatever is asked about it"
    with pytest.raises(ConfigError, match="asked_at must name a layer from 1 to 2"):
        Cnn(asked_at=3).build(SIZES | {"question": 5})
    with pytest.raises(ConfigError, match="but the data asks none"):
        Cnn(asked_at=1).build(SIZES)


def test_what_does_not_fit_is_one_sentence() -> None:
    with pytest.raises(ConfigError, match="stage_strides must be as many as stage_widths"):
        Cnn(stage_strides=(1,))
    with pytest.raises(ConfigError, match="stage_kernels must be as many as stage_widths, 2, but are 1"):
        Cnn(stage_kernels=(3,))
    with pytest.raises(ConfigError, match="must be 1 or more in each layer"):
        Cnn(stage_widths=(4, 0))
    with pytest.raises(ConfigError, match="stage_kernels must be odd"):
        Cnn(stage_kernels=(3, 4)).build(SIZES)
    with pytest.raises(ConfigError, match="non_local must name layers from 1 to 2"):
        Cnn(non_local=(3,)).build(SIZES)
