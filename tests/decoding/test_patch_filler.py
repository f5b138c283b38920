import numpy as np
import torch

from regard.data.hidden_patches import HiddenPatches, PatchHiding
from regard.data.image_arrays import ImageSet
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.decoding.patch_filler import PatchFiller, patch_errors
from regard.models.mae import Mae


def filler(targets: str) -> PatchFiller:
    torch.manual_seed(1)
    model = Mae(layers=1, width=8, heads=2, patch=2, decoder_width=8, decoder_heads=2).build(
        {"channels": 1, "height": 4, "width": 4}
    )
    return PatchFiller(model, Shades((0.5,), (0.5,)), Shape(1, 4, 4), PatchHiding(targets=targets, rate=0.5))  # type: ignore[arg-type]


def test_the_error_is_that_of_hidden_patches_by_a_loop() -> None:
    for targets in ("normalized", "pixels"):
        made = filler(targets)
        item = HiddenPatches(torch.randn(2, 1, 4, 4), torch.tensor([8, 9]))
        shown = made.hiding.shown(item.seeds, 4)
        with torch.no_grad():
            guessed, found = made.model(item.pictures, shown), patch_errors(made.model, item, made.hiding)
        for row in range(2):
            errors = []
            for at in set(range(4)) - set(shown[row].tolist()):
                down, right = 2 * (at // 2), 2 * (at % 2)
                pixels = item.pictures[row, 0, down : down + 2, right : right + 2].flatten()
                if targets == "normalized":
                    pixels = (pixels - pixels.mean()) / (pixels.var() + 1e-6).sqrt()
                errors.append(float((guessed[row, at] - pixels).square().mean()))
            torch.testing.assert_close(float(found[row]), sum(errors) / len(errors), rtol=1e-5, atol=1e-6)


def test_vectors_are_pooled_from_the_encoder_that_sees_all_patches() -> None:
    made, pixels = filler("pixels"), torch.randint(0, 256, (3, 4, 4), dtype=torch.uint8)
    with torch.no_grad():
        tokens = made.model.eval().embed((pixels[:, None] / 255 - 0.5) / 0.5)
        features = made.model.encoder(tokens)
    np.testing.assert_allclose(made.embed(pixels.numpy()), features.mean(1), atol=1e-6)
    np.testing.assert_allclose(made.embed(pixels.numpy(), pooling="first"), features[:, 0], atol=1e-6)
    (layer,) = made.embed_layers(pixels.numpy())
    assert layer.shape == (3, 8)


def test_what_is_shown_stays() -> None:
    pixels = torch.randint(0, 256, (2, 1, 4, 4), dtype=torch.uint8)
    images = ImageSet(pixels, (), ("0", "1"), torch.arange(2))
    for one, picture in zip(filler("normalized").fill(images), pixels, strict=True):
        assert int(one.hidden.sum()) == 8
        torch.testing.assert_close(one.filled[0][~one.hidden], picture[0][~one.hidden] / 255, atol=1e-5, rtol=0)
        assert 0 <= float(one.filled.min()) <= float(one.filled.max()) <= 1
