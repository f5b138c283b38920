"""The laws can fail: each is tried on models and files in which something small is wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.layers.embedding import Embedding
from regard.layers.rnn import Rnn
from regard.models.model import MODELS, Design, Encoder
from regard.models.writer import State, Writer
from regard.runs import artifact
from regard.training import keeper

from . import learners, readers, writers
from .designs import built, small
from .items import item_for

Patch = pytest.MonkeyPatch
embed, recur, hide = Embedding.forward, Rnn.forward, Padding.forward


def ahead(patch: Patch) -> None:
    patch.setattr(Causal, "causal", False)  # else a kernel's own mask serves
    patch.setattr(Causal, "forward", lambda self, rows, columns: columns <= rows + 1)


def beyond_the_end(patch: Patch) -> None:
    patch.setattr(Padding, "forward", lambda self, rows, columns: hide(Padding(self.lengths + 1), rows, columns))


def company(patch: Patch) -> None:
    def mixed(self: Embedding, tokens: Tensor, first: int = 0) -> Tensor:
        x = embed(self, tokens, first)
        return x - 1e-6 * x.mean(0, keepdim=True)

    patch.setattr(Embedding, "forward", mixed)


def first_place(patch: Patch) -> None:
    patch.setattr(Embedding, "forward", lambda self, tokens, first=0: embed(self, tokens))


def stay(patch: Patch) -> None:
    patch.setattr(State, "reorder", lambda self, rows: self)


def in_place(patch: Patch) -> None:
    def changed(self: Rnn, x: Tensor, states: Any = None, lengths: Any = None) -> Any:
        output, after = recur(self, x, states, lengths)
        for old, new in zip(states or (), after, strict=False):
            old.data.copy_(new)
        return output, after

    patch.setattr(Rnn, "forward", changed)


class Steeper(torch.autograd.Function):
    """The identity, but for its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * 1.001


def steeper(patch: Patch) -> None:
    patch.setattr(Embedding, "forward", lambda self, tokens, first=0: Steeper.apply(embed(self, tokens, first)))


NAMES = [name for name in MODELS.names if issubclass(built(name), Writer)]
READERS = [
    name
    for name in MODELS.names
    if issubclass(built(name), Encoder) and {"source", "text"} & set(MODELS.get(name).needs)  # they read texts
]
WRITERS: dict[str, tuple[Callable[[Patch], None], Callable[[Any], None], list[str]]] = {
    "a mask that is off by one": (ahead, writers.nothing_forbidden_is_seen, ["gpt", "transformer"]),
    "a padding mask that is too long": (beyond_the_end, writers.company_changes_nothing, ["seq2seq", "transformer"]),
    "padding that is seen": (beyond_the_end, writers.nothing_forbidden_is_seen, ["transformer"]),
    "rows that leak": (company, writers.company_changes_nothing, NAMES),
    "rows that see each other": (company, writers.nothing_forbidden_is_seen, NAMES),
    "steps that all stand at the beginning": (first_place, writers.steps_are_all_at_once, ["gpt", "transformer"]),
    "beams that are not reordered": (stay, writers.rows_can_be_moved, NAMES),
    "a state that is changed in place": (in_place, writers.rows_can_be_moved, ["rnn_lm", "seq2seq"]),
    "padding that is read": (beyond_the_end, readers.company_changes_nothing, ["transformer"]),
    "padding that is felt": (beyond_the_end, readers.nothing_forbidden_is_seen, ["transformer"]),
    "features that leak": (company, readers.company_changes_nothing, READERS),
    "texts that see each other": (company, readers.nothing_forbidden_is_seen, READERS),
}


@pytest.mark.parametrize("fault", WRITERS)
def test_a_faulty_writer_breaks_a_law(fault: str, monkeypatch: Patch) -> None:
    plant, law, names = WRITERS[fault]
    models = [writers.stirred(small(name)) for name in names]
    plant(monkeypatch)
    for model in models:
        with pytest.raises(AssertionError):
            law(model)


@pytest.mark.parametrize("law", [learners.gradients_are_slopes, learners.each_gradient_is_a_slope])
def test_a_gradient_that_is_off_breaks_a_law(law: Callable[[Design, Any], None], monkeypatch: Patch) -> None:
    design = small("gpt")
    model = writers.stirred(design)
    steeper(monkeypatch)
    with pytest.raises(AssertionError):
        law(design, model)


def test_an_idle_weight_breaks_a_law() -> None:
    model = writers.stirred(small("rnn_lm"))
    model.idle = torch.nn.Parameter(torch.zeros(2))
    with pytest.raises(AssertionError, match="idle"):
        writers.every_weight_learns(model)


def test_a_file_that_differs_breaks_a_law(tmp_path: Path, monkeypatch: Patch) -> None:
    design, load = small("gpt"), artifact.load_weights
    model = writers.stirred(design, torch.float32)

    def careless(model: Any, weights: Any, name: str = "") -> None:
        load(model, {key: weight * (weight.dim() > 1) for key, weight in weights.items()}, name)

    monkeypatch.setattr(artifact, "load_weights", careless)
    with pytest.raises(AssertionError):
        learners.saved_and_loaded_it_has_the_same_bytes(design, model, tmp_path)


@pytest.mark.parametrize("forgotten", ["restore_moments", "seed"])
def test_what_is_forgotten_when_resumed_breaks_a_law(forgotten: str, tmp_path: Path, monkeypatch: Patch) -> None:
    if forgotten == "seed":
        draws = iter(range(100))
        monkeypatch.setattr("regard.training.trainer.seed_of", lambda *numbers: next(draws))
    else:
        monkeypatch.setattr(keeper, forgotten, lambda *given: None)
    with pytest.raises(AssertionError):
        learners.killed_and_resumed_it_ends_with_the_same_bytes(small("gpt"), tmp_path)


def test_a_model_of_a_new_kind_is_told_what_it_needs() -> None:
    class Painter(type(small("gpt"))):  # type: ignore[misc]
        needs = ("classes", "height", "width")

    with pytest.raises(LookupError, match=r"needs the sizes of classes, height, width is new: .* tests/laws/items.py"):
        item_for(Painter())


def test_sizes_are_small_by_their_names() -> None:
    design: Any = small("transformer", MODELS.get("transformer").presets["big"], heads=4)  # type: ignore[attr-defined]
    assert (design.width, design.encoder_layers, design.heads, design.dropout) == (16, 2, 4, 0.0)
    assert design.norm_place == "after"
    assert design.key_heads is None
    assert replace(design, width=32).width == 32
