"""Which of the packable models are compiled."""

from typing import Any

import pytest
import torch
from torch import nn

from regard.decoding.packed.stacks import compilable
from regard.models.gpt import Gpt
from regard.models.transformer import Transformer

SIZES: dict[str, Any] = {"width": 32, "heads": 2, "feedforward": 24}


def transformer(**changes: Any) -> Any:
    made = Transformer(encoder_layers=1, decoder_layers=1, **SIZES | changes)
    return made.build({"source": 30, "target": 30}).eval()


@pytest.mark.parametrize("changes", [{}, {"norm_place": "after"}, {"activation": "gelu"}, {"positions": "learned(9)"}])
def test_usual_models_are(changes: dict[str, Any]) -> None:
    assert compilable(transformer(**changes), lanes=8)


@pytest.mark.parametrize("changes", [{"activation": "silu"}, {"heads": 8}])
def test_others_are_not(changes: dict[str, Any]) -> None:
    assert not compilable(transformer(**changes), lanes=8)


def test_nor_are_other_sizes_types_and_parts() -> None:
    assert not compilable(transformer().to(torch.float64), lanes=8)
    model = transformer()
    model.decoder.layers[0].feedforward.inner = nn.Linear(32, 25)
    assert not compilable(model, lanes=8)
    llama = Gpt(layers=1, positions="rotary", norm="rms", **SIZES).build({"text": 30}).eval()
    assert not compilable(llama, lanes=8)
