"""Permuted weights compute the same numbers with the other order of sinusoids."""

import pytest
import torch

from regard.interop.sinusoid_order import in_halves
from regard.models.transformer import Transformer


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("tie", ["all", "none"])
def test_the_same_logits_in_halves(place: str, tie: str) -> None:
    design = Transformer(
        encoder_layers=2, decoder_layers=2, width=10, heads=2, feedforward=14, norm_place=place, tie=tie,  # type: ignore[arg-type]
        output_bias="learned",
    )  # fmt: skip
    sizes = {"source": 20, "target": 20}
    model = design.build(sizes).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    other, weights = in_halves(design, model.state_dict())
    moved = other.build(sizes).double().eval()
    moved.load_state_dict(dict(weights))
    assert other.positions.order == "halves"
    source, target = torch.randint(4, 20, (2, 6)), torch.randint(4, 20, (2, 5))
    given = (source, torch.tensor([6, 4]), target)
    torch.testing.assert_close(moved(*given), model(*given))
    assert not torch.allclose(moved.target.table.weight, model.target.table.weight)


def test_other_positions_stay() -> None:
    design = Transformer(positions="learned(9)")
    assert in_halves(design, {}) == (design, {})
