"""Which of the packable models are compiled."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from regard.decoding.packed.stacks import compilable
from regard.models.gpt import Gpt
from regard.models.t5 import T5
from regard.models.transformer import Transformer

SIZES: dict[str, Any] = {"width": 32, "heads": 2, "feedforward": 24}


def transformer(**changes: Any) -> Any:
    made = Transformer(encoder_layers=1, decoder_layers=1, **SIZES | changes)
    return made.build({"source": 30, "target": 30}).eval()


@pytest.mark.parametrize("changes", [{}, {"norm_place": "after"}, {"activation": "gelu"}, {"positions": "learned(9)"}])
def test_usual_models_are(changes: dict[str, Any]) -> None:
    assert compilable(transformer(**changes), lanes=8)


@pytest.mark.parametrize("changes", [{"activation": "elu"}, {"heads": 8}, {"positions": "rotary"}])
def test_others_are_not(changes: dict[str, Any]) -> None:
    assert not compilable(transformer(**changes), lanes=8)


def test_nor_are_other_sizes_types_and_parts() -> None:
    assert not compilable(transformer().to(torch.float64), lanes=8)
    model = transformer()
    model.decoder.layers[0].feedforward.inner = nn.Linear(32, 25)
    assert not compilable(model, lanes=8)


def test_nor_are_weights_that_stand_in_memory_in_another_order() -> None:
    model = transformer(tie="none")
    model.output.weight = nn.Parameter(model.output.weight.detach().T.contiguous().T)
    assert not compilable(model, lanes=8)


LLAMA = {"positions": "rotary", "norm": "rms", "feed": "gated", "key_heads": 1}


def llama(**changes: Any) -> Any:
    return Gpt(layers=2, **SIZES | LLAMA | changes).build({"text": 30}).eval()  # type: ignore[arg-type]


def test_the_parts_of_llama_are() -> None:
    assert compilable(llama(), lanes=8)
    assert compilable(llama(positions="rotary(share=0.5)", feed="plain"), lanes=8)
    assert compilable(llama(positions="learned(9)", norm="layer"), lanes=8)
    assert not compilable(llama(positions="rotary(pairs='neighbors')"), lanes=8)


def t5(**changes: Any) -> Any:
    return T5(encoder_layers=2, decoder_layers=2, **SIZES | changes).build({"source": 30, "target": 30}).eval()


def test_those_of_t5_are() -> None:
    assert compilable(t5(), lanes=8)
    assert compilable(t5(feed={"name": "gated", "activation": "gelu_tanh"}), lanes=8)
    assert not compilable(t5(head_width=8), lanes=8)  # all heads together are narrower than the model
    apart = t5()
    first, second = (layer.self_attention.reading for layer in apart.decoder.layers)
    second.positions = deepcopy(first.positions)  # a layer with a table of its own
    assert not compilable(apart, lanes=8)


def test_layers_that_differ_are_not() -> None:
    for part in ("positions", "norm", "feed", "key heads"):
        mixed, other = llama(), llama(positions="rotary(base=99)", norm="layer", feed="plain", key_heads=2)
        own, strange = mixed.decoder.layers[1], other.decoder.layers[1]
        if part == "positions":
            own.self_attention.reading.positions = strange.self_attention.reading.positions
        elif part == "norm":
            own.norms = strange.norms
        elif part == "feed":
            own.feedforward = strange.feedforward
        else:
            own.self_attention = strange.self_attention
        assert not compilable(mixed, lanes=8), part
