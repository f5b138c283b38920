import pytest
import torch

from regard.base.chance import drawing
from regard.base.errors import ConfigError
from regard.layers.residual import Residual, Skip, deepnorm, deepnorm_pair, layer_scale


def test_norms_against_their_formulas() -> None:
    x = torch.randn(5, 8, dtype=torch.float64)
    for norm in ("layer", "rms"):
        built = Residual(norm=norm).build(8).double()
        for weight in built.parameters():
            torch.nn.init.normal_(weight)
        if norm == "layer":
            centered = x - x.mean(-1, keepdim=True)
            expected = centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt() * built.weight + built.bias
        else:
            expected = x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * built.weight
        torch.testing.assert_close(built(x), expected, rtol=0, atol=1e-12)


def test_nothing_is_skipped_outside_training() -> None:
    x = torch.randn(4, 5)
    assert Skip(0.5).eval()(x) is x
    assert Skip(0.0).train()(x) is x


def test_sequences_are_skipped_as_a_whole_and_the_expectation_is_kept() -> None:
    skipped = Skip(0.3).train()(torch.ones(20_000, 2, 3))
    per_row = skipped.flatten(1)
    assert (per_row == per_row[:, :1]).all()
    assert per_row.unique().tolist() == pytest.approx([0.0, 1 / 0.7])
    assert skipped.mean().item() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_small_shares_are_not_rounded_away(share: float) -> None:
    kept = (Skip(share).train()(torch.ones(100_000, 1)) != 0).double().mean().item()
    assert kept == pytest.approx(1 - share, abs=5e-4)


def test_draws_follow_the_one_source_of_random_numbers() -> None:
    skip, x = Skip(0.5).train(), torch.ones(64, 1)
    with drawing(1, 2):
        first, second = skip(x), skip(x)
    with drawing(1, 2):
        again = skip(x)
    with drawing(1, 3):
        other = skip(x)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert not torch.equal(first, other)
    torch.manual_seed(4)
    seeded = skip(x)
    torch.manual_seed(4)
    assert torch.equal(seeded, skip(x))


def test_gradients_pass_where_the_branch_was_kept() -> None:
    x = torch.randn(8, 3, requires_grad=True)
    with drawing(5):
        left = Skip(0.5).train()(x)
    left.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.where(left == 0, 0.0, 2.0))


def test_deepnorm_prescribes_the_published_numbers() -> None:
    assert deepnorm(6) == pytest.approx((12**0.25, 48**-0.25))
    encoder, decoder = deepnorm_pair(18, 6)
    assert encoder == pytest.approx((0.81 * (18**4 * 6) ** (1 / 16), 0.87 * (18**4 * 6) ** (-1 / 16)))
    assert decoder == pytest.approx(((3 * 6) ** (1 / 4), (12 * 6) ** (-1 / 4)))
    assert deepnorm(100).scale == pytest.approx(3.7606, abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"norm": "batch"}, "residual.norm: unknown 'batch'"),
        ({"place": "between"}, "residual.place: unknown 'between'"),
        ({"gate": "large"}, "residual.gate: unknown 'large'"),
        ({"scale": 0.0}, "residual: scale must be above 0, but is 0"),
        ({"dropout": 1.0}, "residual: dropout must be at least 0 and below 1"),
        ({"skip": -0.1}, "residual: skip must be at least 0 and below 1"),
    ],
)
def test_settings_out_of_range_are_refused(unchecked: None, settings: dict[str, object], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Residual(**settings)  # type: ignore[arg-type]


def test_it_shows_its_share() -> None:
    assert repr(Skip(0.3)) == "Skip(share=0.3)"


def test_a_gate_is_one_number_or_one_for_each_channel() -> None:
    x = torch.randn(2, 3, 8)
    scalar, channels = (Residual(gate=gate, gate_start=0.1).build_gate(8) for gate in ("scalar", "channels"))
    assert [gate.factor.numel() for gate in (scalar, channels)] == [1, 8]
    torch.testing.assert_close(scalar(x), 0.1 * x)
    with torch.no_grad():
        channels.factor.copy_(torch.arange(8.0))
    torch.testing.assert_close(channels(x), x * torch.arange(8.0))
    assert Residual().build_gate(8)(x) is x
    assert [layer_scale(layers) for layers in (12, 24, 36)] == [0.1, 1e-5, 1e-6]


def test_without_a_norm_nothing_is_normed() -> None:
    x = torch.randn(2, 3, 8)
    assert Residual(norm="none").build(8)(x) is x


@pytest.mark.parametrize("layers", [6, 50, 200])
def test_deepnorm_equals_torchscale(layers: int) -> None:
    """By torchscale 0.3.0's formulas; its β of an encoder beside a decoder is 1.15 / …, where the paper has 0.87 / …"""
    assert deepnorm(layers) == pytest.approx(((2.0 * layers) ** 0.25, 1 / (8.0 * layers) ** 0.25))
    encoder, decoder = deepnorm_pair(layers, layers)
    assert encoder.scale == pytest.approx((layers**4 * layers) ** 0.0625 * 0.81)
    assert encoder.gain == pytest.approx(0.87 / (layers**4 * layers) ** 0.0625)
    assert decoder == pytest.approx(((3.0 * layers) ** 0.25, 1 / (12.0 * layers) ** 0.25))
