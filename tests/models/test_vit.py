"""ViT against its formula; tests/interop/test_picture_folder.py compares it with transformers."""

from math import cos, sin

import pytest
import torch

from regard.base.errors import ConfigError
from regard.models.vit import Vit

SIZES = {"channels": 1, "height": 8, "width": 12, "classes": 3}


@pytest.mark.parametrize(("preset", "weights"), [("tiny", 5_717_416), ("small", 22_050_664), ("base", 86_567_656)])
def test_published_sizes(preset: str, weights: int) -> None:
    """The parameters that DeiT-Ti, DeiT-S and ViT-B/16 have with 1,000 classes."""
    with torch.device("meta"):
        model = Vit.preset(preset).build({"channels": 3, "height": 224, "width": 224, "classes": 1000})
    assert sum(weight.numel() for weight in model.parameters()) == weights


def test_tokens_are_the_class_token_and_patches_with_positions() -> None:
    model = Vit(layers=1, width=8, heads=2, patch=4).build(SIZES)
    pictures = torch.randn(2, 1, 8, 12)
    found = model.embed(pictures)
    assert list(found.shape) == [2, 7, 8]
    assert model.positions is not None
    torch.testing.assert_close(found[:, 0], (model.class_token + model.positions[:, :1])[:, 0].expand(2, -1))
    torch.testing.assert_close(found[:, 1:], model.embedding(pictures) + model.positions[:, 1:])


@pytest.mark.parametrize("pooling", ["first", "mean", "max"])
def test_the_class_is_told_from_pooled_features(pooling: str) -> None:
    model = Vit(layers=1, width=8, heads=2, pooling=pooling).build(SIZES).eval()  # type: ignore[arg-type]
    features, keep = model.encode(torch.randn(2, 1, 8, 12, generator=torch.Generator().manual_seed(1)))
    assert keep.all()
    pooled = {"first": features[:, 0], "mean": features.mean(1), "max": features.amax(1)}[pooling]
    logits = model(torch.randn(2, 1, 8, 12, generator=torch.Generator().manual_seed(1)))
    torch.testing.assert_close(logits, model.head(pooled))


def test_positions_may_begin_as_waves_of_row_and_column() -> None:
    model = Vit(layers=1, width=12, heads=2, patch=4, patch_positions="waves").build(SIZES)
    assert model.positions is not None and model.positions.requires_grad
    cells = model.positions[0, 1:].detach().unflatten(0, (2, 3))
    base = 2 * 3  # twice the longer side
    for row in range(2):
        for column in range(3):
            waves = [f(at / base ** (2 * j / 6)) for at in (row, column) for j in range(3) for f in (sin, cos)]
            torch.testing.assert_close(cells[row, column], torch.tensor(waves))


def test_without_positions_patches_are_a_set() -> None:
    model = Vit(layers=2, width=8, heads=2, patch=4, patch_positions="none").build(SIZES).eval()
    pictures = torch.randn(1, 1, 8, 12)
    swapped = torch.cat([pictures[..., 4:8], pictures[..., :4], pictures[..., 8:]], -1)
    torch.testing.assert_close(model(pictures), model(swapped))


def test_what_does_not_fit_is_one_sentence() -> None:
    with pytest.raises(
        ConfigError, match="patch: 5 does not divide pictures of 8 × 12 pixels; those that do are: 1, 2, 4"
    ):
        Vit(patch=5).build(SIZES)
    with pytest.raises(ConfigError, match="built for pictures of 1 × 8 × 12, but was given 1 × 8 × 8"):
        Vit(layers=1, width=8, heads=2).build(SIZES)(torch.zeros(1, 1, 8, 8))
    with pytest.raises(ConfigError, match="reads pictures alone, but the data asks questions"):
        Vit().build(SIZES | {"question": 4})
    with pytest.raises(ConfigError, match="join must be 'add'"):
        Vit(positions={"name": "sinusoidal", "join": "concatenate", "width": 4}).build(SIZES)


def test_sight_is_the_grid_after_the_class_token() -> None:
    sight = Vit(layers=1, width=8, heads=2).build(SIZES).sight("encoder.layers.0.self_attention")
    assert (sight.rows, sight.columns) == (2, 3)
    assert sight.cells.tolist() == [[-1, 0, 1, 2, 3, 4, 5]]
