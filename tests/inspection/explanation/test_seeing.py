from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.image_arrays import ImageSet
from regard.data.image_files import Shape
from regard.data.images import Shades
from regard.decoding.image_classifier import ImageClassifier
from regard.inspection.explanation.head_effects import switched_off
from regard.inspection.explanation.seeing import Seen, see
from regard.models.cnn import Cnn
from regard.models.model import Design
from regard.models.swin import Swin
from regard.models.vit import Vit
from tests.browser import Open, browser, drawn, visit

__all__ = ["browser", "visit"]
SIZES = {"channels": 1, "height": 8, "width": 8, "classes": 3}
DESIGNS = {
    "vit": Vit(layers=2, width=8, heads=2, patch=2),
    "swin": Swin(patch=1, width=8, stage_layers=(2, 2), stage_heads=(2, 2), tile=4),
    "cnn": Cnn(stage_widths=(8,), stage_strides=(2,), non_local=(1,)),
}


def classifier(design: Design) -> ImageClassifier:
    torch.manual_seed(1)
    model = design.build(SIZES)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.5 * torch.randn_like(weight)
    return ImageClassifier(model, ["a", "b", "c"], Shades((0.5,), (0.25,)), Shape(1, 8, 8))  # type: ignore[arg-type]


def images() -> ImageSet:
    pixels = torch.randint(0, 256, (2, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    return ImageSet(pixels, (), ("0", "1"), torch.arange(2))


def seen(name: str) -> Seen:
    return see(classifier(DESIGNS[name]), images(), 1)


@pytest.mark.parametrize("name", DESIGNS)
def test_weights_of_a_place_are_those_of_its_cell(name: str) -> None:
    found = seen(name)
    for layer in found.layers:
        maps = layer.of_cell(found.cell(layer, (5, 2)))
        assert list(maps.shape) == [layer.heads, layer.sight.rows, layer.sight.columns]
        everything = layer.sight.spread(layer.weights)
        cell = 5 * layer.sight.rows // 8 * layer.sight.columns + 2 * layer.sight.columns // 8
        torch.testing.assert_close(maps.flatten(1), everything[:, cell])
    if name != "vit":
        torch.testing.assert_close(everything.sum(-1), torch.ones(everything.shape[:2]))


def test_shifted_tiles_stand_where_they_belong() -> None:
    """A change of the picture outside a shifted tile changes nothing in it: what is drawn is what was seen."""
    found = seen("swin")
    shifted = found.layers[1]
    assert shifted.name == "stages.0.blocks.1.tiled_attention.attention"
    maps = shifted.of_cell(found.cell(shifted, (2, 5)))
    assert (maps[:, 2:6, 2:6] > 0).all()
    assert not maps[:, :2].any()
    assert not maps[:, 6:].any()
    corner = shifted.of_cell(found.cell(shifted, (0, 7)))
    assert (corner[:, :2, 6:] > 0).all()
    assert int((corner > 0).sum()) == 2 * 4


def by_products(found: Seen, pooling: str = "first") -> Tensor:
    """Rollout of ViT by its formula, token by token."""
    joint = torch.eye(17)
    for layer in found.layers:
        joint = (layer.weights[0].mean(0) + torch.eye(17)) / 2 @ joint
    reached = (joint[0] if pooling == "first" else joint.mean(0))[1:]
    return reached / reached.sum()


def test_rollout() -> None:
    found = seen("vit")
    torch.testing.assert_close(found.rollout().flatten(), by_products(found))
    pooled = see(classifier(replace(DESIGNS["vit"], pooling="mean")), images(), 1)  # type: ignore[type-var, call-arg]
    torch.testing.assert_close(pooled.rollout().flatten(), by_products(pooled, "mean"))
    merged = seen("swin").rollout()
    assert list(merged.shape) == [8, 8]
    torch.testing.assert_close(merged.sum(), torch.tensor(1.0))


def test_the_class_token_attends_too() -> None:
    found = seen("vit")
    layer = found.layers[0]
    torch.testing.assert_close(layer.of_cell(None).flatten(1), layer.weights[0, :, 0, 1:])
    with pytest.raises(UsageError, match="it has no class token"):
        seen("swin").layers[0].of_cell(None)


@pytest.mark.parametrize("name", DESIGNS)
def test_what_is_moved_and_what_the_answer_loses_without_a_head(name: str) -> None:
    found, own = seen(name), classifier(DESIGNS[name])
    answer = list(found.labeling.probabilities).index(found.labeling.labels[0])
    for layer in found.layers:
        shares = layer.moved / layer.weights.clamp(min=1e-12)
        assert layer.moved.shape == layer.weights.shape
        seen_keys = layer.weights > 1e-6
        for query in range(shares.shape[2]):  # a value has one length, whoever looks at it
            both = seen_keys[:, :, 0] & seen_keys[:, :, query]
            torch.testing.assert_close(shares[:, :, query][both], shares[:, :, 0][both])
        with torch.no_grad(), switched_off(own.model, {layer.name: [0]}):
            without = own.model.eval()(*own.inputs(images(), torch.tensor([1]))).log_softmax(-1)[0, answer]
        whole = torch.tensor(found.labeling.probabilities[found.labeling.labels[0]]).log()
        assert layer.effects[0] == pytest.approx(float(whole - without), abs=1e-4)
    assert see(own, images(), 1, effects=False).layers[0].effects == ()


def test_wrong_places_are_one_sentence() -> None:
    found = seen("vit")
    with pytest.raises(UsageError, match="there is no pixel 8,0; the model sees 8 × 8 of them"):
        found.cell(found.layers[0], (8, 0))
    with pytest.raises(UsageError, match="there is no picture 2; there are 2, from 0"):
        see(classifier(DESIGNS["vit"]), images(), 2)
    with pytest.raises(UsageError, match="this model has no attention"):
        see(classifier(Cnn(stage_widths=(8,), stage_strides=(2,))), images())


def test_the_page_shows_every_layer_and_head(visit: Open, tmp_path: Path) -> None:
    page = tmp_path / "seen.html"
    page.write_text(seen("swin").to_html("swin"), encoding="utf-8")
    opened = visit(page.as_uri())
    assert opened.locator(".heads canvas").count() == 8
    assert opened.locator("figcaption").first.inner_text().startswith("head 1, to 0.")
    heights = opened.locator("#choices button").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert len(heights) == 4 and len(set(heights)) == 1
    third = ".heads canvas >> nth=2"
    before = drawn(opened, third)
    opened.locator("#picture").click(position={"x": 5, "y": 5})
    assert drawn(opened, third, other_than=before) != before
    opened.get_by_role("button", name="rollout over layers").click()
    opened.locator('[data-view="rollout"][aria-pressed="true"]').wait_for()
    weighed = drawn(opened, third)
    opened.get_by_role("button", name="what is moved").click()
    assert drawn(opened, third, other_than=weighed) != weighed
    effect = seen("swin").layers[0].effects[0]
    assert opened.locator("figcaption").first.inner_text().endswith(f"effect {effect:.2f}")
