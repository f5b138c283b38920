"""A model is examined again when any part or weight of it has changed, and only then."""

import gc
import shutil
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from regard.decoding.packed import recognized as recognizing
from regard.decoding.packed.recognized import positions_limit, recognized
from regard.layers.residual import Residual
from regard.models.transformer import Transformer

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def model(**changes: Any) -> Any:
    sizes = {"width": 32, "heads": 2, "feedforward": 24, "encoder_layers": 1, "decoder_layers": 1}
    return Transformer(**sizes | changes).build({"source": 30, "target": 30}).eval()


def write(model: Any) -> None:
    with torch.no_grad():
        model.decoder.layers[0].feedforward.inner.weight[3, 3] += 1


def write_past_torch(model: Any) -> None:
    for weight in model.parameters():
        weight.data.mul_(1.1)


def replace_weight(model: Any) -> None:
    model.output.weight = nn.Parameter(model.output.weight.detach().clone())


def forward(model: Any) -> None:
    model.decoder.forward = lambda *_: None


CHANGES: tuple[Callable[[Any], Any], ...] = (
    *(write, write_past_torch, replace_weight, forward),
    lambda model: setattr(model.decoder, "more", 1),
    lambda model: setattr(model, "encoder", model.decoder),
    lambda model: model.decoder.layers[0].register_forward_hook(lambda *_: None),
    lambda model: setattr(model.decoder.layers[0].norms["feedforward"], "eps", 0.1),
    lambda model: setattr(model.decoder.layers[0], "residual", Residual(scale=2.0)),
    lambda model: setattr(model.decoder.layers[0].feedforward, "inner", nn.Linear(32, 24)),
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(change: Callable[[Any], Any]) -> None:
    one = model()
    first = recognized(one)
    assert first.packable and first.stacks is not None
    assert recognized(one) is first
    change(one)
    assert recognized(one) is not first


def test_a_number_that_is_replaced_by_an_equal_one_is_noticed() -> None:
    one = model()
    one.factor = nn.Parameter(torch.ones(1))
    first = recognized(one)
    one.factor = nn.Parameter(torch.ones(1))
    assert recognized(one) is not first


def test_so_are_kernels_that_come_or_go(monkeypatch: pytest.MonkeyPatch) -> None:
    one = model()
    assert recognized(one).stacks is not None
    monkeypatch.setattr(recognizing, "kernels", lambda: None)
    assert recognized(one).stacks is None
    assert recognized(one).packable


def test_a_model_is_not_kept() -> None:
    one = model()
    recognized(one)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_the_limit_is_that_of_learned_positions() -> None:
    assert positions_limit(model()) is None
    assert recognized(model(positions="learned(9)")).limit == 9
