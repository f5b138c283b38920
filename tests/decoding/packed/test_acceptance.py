"""Only the exact parts are packed. That the numbers are right wherever they are is the law in tests/laws."""

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn

from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.memories.rolling import Rolling
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.decoding.packed.acceptance import packable, unusual
from regard.layers.feeds.plain import FeedForward
from regard.layers.residual import Residual
from regard.models.gpt import Gpt
from regard.models.rnn_lm import RnnLm
from regard.models.transformer import Transformer
from regard.models.writer import Writer

SMALL = {"width": 16, "heads": 2, "feedforward": 24}


def transformer(**changes: Any) -> Any:
    sizes = {"source": 30, "target": 30}
    return Transformer(encoder_layers=2, decoder_layers=2, **SMALL, **changes).build(sizes).eval()


class Subclassed(FeedForward):
    """The same formula under another name."""


def subclass(model: Any) -> None:
    model.encoder.layers[1].feedforward = Subclassed(16, 24, 16, "relu", 0.0).eval()


def hook(model: Any) -> None:
    model.decoder.layers[0].register_forward_hook(lambda *_: None)


def window(model: Any) -> None:
    model.decoder.layers[1].self_attention.mask = Causal() & Window(3)


def masked_encoder(model: Any) -> None:
    model.encoder.layers[0].self_attention.mask = Window(3)


def masked_cross(model: Any) -> None:
    model.decoder.layers[1].cross.mask = Causal()


def rolling(model: Any) -> None:
    model.decoder.layers[0].self_attention.memory = Rolling(3)


def limited_vectors(model: Any) -> None:
    model.target.table.max_norm = 1.0


def positions_of_layers(model: Any) -> None:
    model.source.positions = Sinusoidal(layers="every")


def scaled(model: Any) -> None:
    model.decoder.layers[1].residual = Residual(scale=2.0)


def no_last_norm(model: Any) -> None:
    model.decoder.norm = nn.Identity().eval()


def without_cross(model: Any) -> None:
    model.decoder.layers[1].cross = None


SURGERY: dict[str, Callable[[Any], None]] = {
    "encoder.layers.1.feedforward is of the type Subclassed": subclass,
    "decoder.layers.0 has a forward hook": hook,
    "decoder.layers.1.self_attention is not the usual one": window,
    "encoder.layers.0.self_attention is not the usual one": masked_encoder,
    "decoder.layers.1.cross is not the usual one": masked_cross,
    "decoder.layers.0.self_attention is not the usual one": rolling,
    "target is not the usual one": limited_vectors,
    "source is not the usual one": positions_of_layers,
    "decoder.norm is not the usual one": no_last_norm,
    "decoder.layers.1.residual is not the usual one": scaled,
}


@pytest.mark.parametrize("reason", SURGERY)
def test_a_part_that_was_changed_is_named(reason: str) -> None:
    model = transformer()
    assert packable(model)
    SURGERY[reason](model)
    assert unusual(model) == reason
    assert not packable(model)


def test_a_decoder_layer_without_a_source_is_not_usual() -> None:
    model = transformer()
    without_cross(model)
    assert unusual(model) == "decoder.layers.1.cross is not the usual one"


@pytest.mark.parametrize("norm", ["before", "after"])
def test_usual_models_are_packed(norm: str) -> None:
    assert packable(transformer(norm_place=norm))
    assert packable(transformer(positions="learned(9)", score="dot", tie="none"))
    assert packable(Gpt(layers=2, norm_place=norm, **SMALL).build({"text": 30}).eval())


def test_shared_key_heads_are_usual_but_not_packed() -> None:
    model = transformer(key_heads=1)
    assert unusual(model) is None
    assert not packable(model)


def test_other_models_are_not_packed() -> None:
    other: Writer = RnnLm(width=8).build({"text": 30}).eval()
    assert unusual(other) == "the model is of the type RnnLmModel"
    assert not packable(other)


def test_training_mode_does_not_matter_since_searches_switch_it_off() -> None:
    assert unusual(transformer().train()) is None
