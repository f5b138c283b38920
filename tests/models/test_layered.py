from typing import Any

import pytest
import torch

from regard.attention.core import attend
from regard.attention.mask import MASKS, And
from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.normalizer import NORMALIZERS
from regard.attention.score import SCORES
from regard.base.config import from_dict, to_dict
from regard.base.errors import ConfigError
from regard.layers.feeds.experts import Mixture, balance_losses
from regard.layers.feeds.gated import GatedFeedForward
from regard.layers.mixers.convolution import GatedConvolution
from regard.layers.residual import deepnorm, deepnorm_pair
from regard.layers.rms_norm import RmsNorm
from regard.models.gpt import Gpt
from regard.models.layered import Layered, after_causality
from regard.models.transformer import Transformer
from tests.laws import writers

SMALL: dict[str, Any] = {"width": 16, "heads": 2, "dropout": 0.0}
KINDS: dict[str, type[Layered]] = {"gpt": Gpt, "transformer": Transformer}
each = pytest.mark.parametrize("name", KINDS)


def built(name: str, **settings: Any) -> Any:
    return from_dict(SMALL | settings, KINDS[name]).build(dict.fromkeys(KINDS[name].needs, 20))


@each
def test_settings_reach_every_layer(name: str) -> None:
    feed = {"name": "gated", "activation": "silu"}
    model = built(name, norm="rms", norm_place="after", feed=feed, feedforward=20, feedforward_dropout=0.1, dropout=0.2)
    blocks = [*model.decoder.blocks, *(model.encoder.blocks if name == "transformer" else [])]
    for block in blocks:
        assert type(block.feed) is GatedFeedForward
        assert (block.feed.activation, block.feed.outer.in_features, block.feed.dropout.share) == ("silu", 20, 0.1)
        assert all(type(norm) is RmsNorm for norm in block.norms.values())
        assert (block.residual.place, block.residual.dropout, block.residual.scale) == ("after", 0.2, 1.0)


@each
def test_a_feed_that_names_no_activation_has_the_models(name: str) -> None:
    experts = {"name": "experts", "count": 2, "chosen": 1, "expert": "gated"}
    model = built(name, feed=experts, activation="tanh", feedforward=12)
    mixture = model.decoder.blocks[0].feed
    assert type(mixture) is Mixture
    assert (mixture.experts[1].activation, mixture.experts[1].outer.in_features) == ("tanh", 12)
    with balance_losses(model) as losses:
        model(*writers.sources(model), writers.TARGET)
    assert len(losses) == (6 if name == "gpt" else 12)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned(6)"])
def test_positions_of_the_first_layer_alone(positions: str) -> None:
    """q + p, k + p and v + p in the first layer; the others have none: two models with the same weights, in a row."""
    name, given = positions.rstrip(")").partition("(")[::2]
    spec = {kind: f"{name}({given}{', ' if given else ''}layers='{kind}')" for kind in ("first_layer", "every")}

    def built(layers: int, chosen: str | None) -> Any:
        torch.manual_seed(3)
        design = Gpt(layers=layers, width=8, heads=2, positions=chosen, dropout=0.0)
        return design.build({"text": 9}).double().eval().decoder

    whole, first, rest = built(2, spec["first_layer"]), built(1, spec["every"]), built(2, None)
    first.blocks[0].load_state_dict(whole.blocks[0].state_dict())
    rest.blocks[1].load_state_dict(whole.blocks[1].state_dict())
    x, keep = torch.randn(2, 5, 8, dtype=torch.float64), Causal()
    expected = rest.blocks[1](first.blocks[0](x, keep=keep), keep=keep)
    found = whole.blocks[1](whole.blocks[0](x, keep=keep), keep=keep)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert not torch.allclose(found, rest.blocks[1](rest.blocks[0](x, keep=keep), keep=keep))


def test_masks_of_encoder_and_decoder() -> None:
    model = built("transformer", mask="window(3)", decoder_layers=1, encoder_layers=1)
    assert model.encoder.blocks[0].self_attention.mask == Window(3)
    assert model.decoder.blocks[0].self_attention.mask == Causal() & Window(3)
    assert model.decoder.blocks[0].cross.mask is None
    assert type(built("gpt").decoder.blocks[0].self_attention.mask) is Causal


def test_causality_is_added_once() -> None:
    assert after_causality(None) == Causal()
    assert after_causality(Causal()) == Causal()
    both = Causal() & Window(3)
    assert after_causality(both) is both
    either = Causal() & Window(3) | Window(1)
    assert after_causality(either) == And(Causal(), either)


@pytest.mark.parametrize("mask", [Causal(), Causal() & Window(3, ahead=0) | ~Window(2), Window(4)])
def test_masks_are_values_too_and_are_written_as_texts(mask: Any) -> None:
    design = Gpt(**SMALL, mask=mask)
    written = to_dict(design)
    assert isinstance(written["mask"], str)
    assert from_dict(written, Gpt) == design


def test_memories_serve_where_they_can() -> None:
    model = built("transformer", memory="compressed(4)", encoder_layers=1, decoder_layers=1)
    assert type(model.encoder.blocks[0].self_attention.memory).__name__ == "BlendWeights"
    assert type(model.decoder.blocks[0].self_attention.memory).__name__ == "Growing"
    model = built("transformer", memory="rolling(4)", encoder_layers=1, decoder_layers=1)
    assert type(model.encoder.blocks[0].self_attention.memory).__name__ == "Growing"
    assert type(model.decoder.blocks[0].self_attention.memory).__name__ == "Rolling"


def test_another_mixer_sees_both_sides_in_an_encoder_and_the_past_in_a_decoder() -> None:
    mixer = {"name": "convolution", "width": 3, "growth": 2}
    model = built("transformer", mixer=mixer, encoder_layers=3, decoder_layers=2)
    made = [block.mixer for block in (*model.encoder.blocks, *model.decoder.blocks)]
    assert all(type(one) is GatedConvolution for one in made)
    assert [one.view for one in made] == ["both"] * 3 + ["past"] * 2
    assert [one.dilation for one in made] == [1, 2, 4, 1, 2]


def test_stochastic_depth_rises_to_what_is_set() -> None:
    model = built("gpt", stochastic_depth=0.3, layers=3)
    assert [block.skip.share for block in model.decoder.blocks] == pytest.approx([0.1, 0.2, 0.3])


def test_deepnorm_scales_the_stream_and_shrinks_the_first_weights() -> None:
    torch.manual_seed(3)
    plain = built("transformer", norm_place="after", encoder_layers=2, decoder_layers=3)
    torch.manual_seed(3)
    deep = built("transformer", norm_place="after", residual_scale="deepnorm", encoder_layers=2, decoder_layers=3)
    for side, depth in zip(("encoder", "decoder"), deepnorm_pair(2, 3), strict=True):
        for one, other in zip(getattr(deep, side).blocks, getattr(plain, side).blocks, strict=True):
            assert one.residual.scale == pytest.approx(depth.scale)
            assert_shrunk(one, other, depth.gain)
    torch.manual_seed(3)
    alone = built("gpt", norm_place="after", residual_scale="deepnorm", layers=2)
    assert alone.decoder.blocks[1].residual.scale == pytest.approx(deepnorm(2).scale)


def assert_shrunk(one: Any, other: Any, gain: float) -> None:
    ours, theirs = one.self_attention.projections.joint.weight, other.self_attention.projections.joint.weight
    torch.testing.assert_close(ours[32:], gain * theirs[32:])
    assert torch.equal(ours[:32], theirs[:32])
    torch.testing.assert_close(one.feed.inner.weight, gain * other.feed.inner.weight)
    torch.testing.assert_close(one.feed.outer.weight, gain * other.feed.outer.weight)
    torch.testing.assert_close(one.self_attention.output.weight, gain * other.self_attention.output.weight)
    if one.cross is not None:
        ours, theirs = one.cross.projections.source.weight, other.cross.projections.source.weight
        torch.testing.assert_close(ours[16:], gain * theirs[16:])
        assert torch.equal(ours[:16], theirs[:16])


@pytest.mark.parametrize("place", ["before", "after"])
@each
def test_the_place_of_the_norm_in_older_words(name: str, place: str) -> None:
    design = from_dict({"norm": place}, KINDS[name])
    assert (design.norm, design.norm_place) == ("layer", place)
    assert from_dict({"norm": "before", "norm_place": "after"}, KINDS[name]).norm_place == "before"
    assert Transformer.preset("base", norm="before").norm_place == "before"


@pytest.mark.parametrize(
    ("name", "settings", "complaint"),
    [
        ("gpt", {"memory": "compressed(4)"}, r"gpt\.memory: compressed blends .* use growing, rolling or recurrent"),
        ("gpt", {"memory": "latent(4)"}, r"gpt\.memory: latent blends"),
        ("gpt", {"memory": "growin"}, r"gpt\.memory: unknown 'growin'"),
        ("gpt", {"memory": "recurrent"}, "gpt: recurrent memory: needs a score with positive features"),
        ("gpt", {"normalizer": "ratio"}, "gpt: attend: Ratio .* needs a score that is never negative"),
        ("transformer", {"memory": "compressed(4)", "mask": "window(2)"}, "transformer: .* compressed memory blends"),
        ("transformer", {"memory": "compressed(4)", "positions": "alibi"}, "transformer: compressed memory: blends"),
        (
            "gpt",
            {"score": "kernel", "normalizer": "ratio", "memory": "recurrent", "mask": "window(2)"},
            "gpt: recurrent memory: .* cannot be read through a mask",
        ),
        ("gpt", {"mixer": "convolution", "mask": "window(2)"}, r"gpt\.mask: it is a part of attention, but mixer is"),
        ("gpt", {"mixer": "recurrent", "score": "dot"}, r"gpt\.score: .* use mixer = 'self_attention'"),
        ("gpt", {"mixer": "recurrent", "memory": "rolling(3)"}, r"gpt\.memory: it is a part of attention"),
        ("gpt", {"mixer": "recurrent", "positions": "rotary"}, r"gpt\.positions: rotary acts inside self-attention"),
        ("gpt", {"mixer": "convolutoin"}, r"mixer: unknown 'convolutoin' \(did you mean 'convolution'\?\)"),
        ("gpt", {"residual_scale": "deepnorm"}, r"gpt\.residual_scale: deepnorm is for .* norm_place = 'after'"),
        ("gpt", {"residual_scale": 0.0}, "scale must be above 0"),
        ("gpt", {"stochastic_depth": 1.0}, "gpt: stochastic_depth must be at least 0 and below 1"),
        ("transformer", {"mixer": "recurrent", "width": 15, "heads": 3}, "recurrent: width .15. must be even"),
    ],
)
def test_what_cannot_serve_is_refused_when_it_is_built(name: str, settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        built(name, **settings)


def test_the_score_of_attention_to_a_source_goes_with_another_mixer() -> None:
    model = built("transformer", mixer="convolution", score="dot", key_heads=1)
    assert type(model.decoder.blocks[0].cross.reading.score).__name__ == "Dot"


def test_an_encoder_alone_refuses_memories_of_the_past() -> None:
    class Reading(Transformer):
        views = ("both",)

    with pytest.raises(ConfigError, match=r"memory: rolling holds what was before .* compressed or latent"):
        Reading(**SMALL, memory="rolling(3)").stack(1, "both", deepnorm(1))


def test_trying_a_layer_draws_no_random_number_and_leaves_it_in_training() -> None:
    torch.manual_seed(1)
    with torch.device("meta"):
        built("gpt", dropout=0.5)
    torch.manual_seed(1)
    model = built("gpt", dropout=0.5, stochastic_depth=0.5)
    assert all(module.training for module in model.modules())
    after = torch.get_rng_state()
    torch.manual_seed(1)
    built("gpt", dropout=0.0)
    assert torch.equal(after, torch.get_rng_state())


def test_only_what_is_computed_is_counted() -> None:
    weights = 6 * (4 * 16 * 16 + 2 * 16 * 64) + 16 * 20
    plain, sizes = from_dict(SMALL, Gpt), {"text": 20}
    assert plain.training_flops(0, 1, sizes, length=10) == 6 * (weights + 6 * 16 * 10)
    sparse = from_dict(SMALL | {"feed": {"name": "experts", "count": 4, "chosen": 1}}, Gpt)
    assert sparse.training_flops(0, 1, sizes, length=10) == 6 * (weights + 6 * 16 * 4 + 6 * 16 * 10)
    mixed = from_dict(SMALL | {"mixer": {"name": "convolution", "width": 3}}, Gpt)
    convolved = 6 * (3 * 16 * 32 + 16 * 16 + 2 * 16 * 64) + 16 * 20
    assert mixed.training_flops(0, 1, sizes, length=10) == 6 * convolved


def test_a_window_wider_than_the_text_is_remarked() -> None:
    design = Gpt(mask="window(64) | global_tokens(1)")
    (remark,) = design.remarks(48)
    assert remark == (
        "gpt.mask: window(64) is as wide as the texts, which have 48 tokens, so it hides nothing and saves nothing; "
        "window(12) would"
    )
    assert design.remarks(65) == Gpt().remarks(5) == []


def test_backends_and_recomputing_change_no_number() -> None:
    tokens = torch.randint(4, 20, (2, 9))
    found = []
    for changes in (
        {},
        {"backend": "plain"},
        {"backend": "blockwise"},
        {"backend": "blockwise", "recompute": "layers"},
    ):
        torch.manual_seed(1)
        model = Gpt(layers=2, width=16, heads=2, dropout=0.0, **changes).build({"text": 20}).double()
        loss = model(None, None, tokens).square().sum()
        found.append(torch.cat([one.flatten() for one in torch.autograd.grad(loss, list(model.parameters()))]))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"normalizer": "ratio"}, "needs a score that is never negative, such as Kernel"),
        ({"memory": "recurrent"}, "Kernel with Ratio, not ScaledDot with Softmax"),
        ({"memory": "compressed(8)"}, "compressed blends all positions, so a decoder cannot decode step by step"),
        ({"score": "kernel('elu', redraw='step')"}, "redraw='step' is for random features"),
    ],
)
def test_what_does_not_combine_is_told_in_one_sentence(settings: dict[str, str], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as error:
        Gpt(layers=1, width=8, heads=2, **settings).build({"text": 9})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("length", [100, 130, 640])
def test_big_bird_by_blocks_equals_the_same_mask_on_the_plain_path(length: int) -> None:
    """Also where blocks do not divide the length; the sparse backend is asked for by name, forward and backward."""
    mask = MASKS.make("window(33) | global_tokens(16) | random_blocks(32, 2, 640)")
    sides = [torch.randn(1, 2, length, 8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    parts = {"score": SCORES.make("scaled_dot"), "normalizer": NORMALIZERS.make("softmax"), "mask": mask}
    found = {}
    for backend in ("plain", "sparse", "union"):
        output = attend(*sides, **parts, backend=backend).output
        found[backend] = [output, *torch.autograd.grad(output.square().sum(), sides)]
    for backend in ("sparse", "union"):
        for one, other in zip(found[backend], found["plain"], strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
