"""Law: every part as a setting of every layered model is refused by one sentence when it is built, or it works.

Masks, memories, scores, normalizers, positions, feeds and mixers are taken from their folders, so that a new file is
tried on arrival: each in a fourth of the models, in turn, and by `make torture` in all of them. A part that is refused
beside the usual ones is tried beside those of linear attention.
"""

import os
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.attention.mask import MASKS
from regard.attention.memory import MEMORIES
from regard.base.catalog import Catalog
from regard.base.errors import ConfigError
from regard.layers.mixers.self_attention import SelfAttention
from regard.models.clip import Clip
from regard.models.layered import Layered, after_causality
from regard.models.mae import Mae
from regard.models.model import MODELS, Design, Encoder
from regard.models.pictured import PictureModel
from regard.models.writer import Writer

from . import learners, readers, writers
from .alternatives import alternatives
from .designs import complete, small
from .examples import settings_of

LAYERED = [
    name
    for name in MODELS.names
    if complete(name) and issubclass(MODELS.get(name), Layered) and not issubclass(MODELS.get(name), Mae | Clip)
]
"""a masked autoencoder has the layers of a ViT"""
SEEING = [name for name in LAYERED if "channels" in MODELS.get(name).needs]  # type: ignore[attr-defined]
"""those that read pictures"""
BESIDE: tuple[dict[str, Any], ...] = (
    {},
    {"score": "kernel", "normalizer": "ratio", "positions": "sinusoidal"},
    {"tie": "none"},
    {"norm_place": "after"},
)
"""other settings that a part may need: those of linear attention, matrices apart, post-norm"""
TIED = ("t5",)
"""those whose embeddings are always one matrix"""
DEPTHS = ("layers", "encoder_layers", "decoder_layers")
COMPOSED = ("causal & window(2)", "window(1) | global_tokens(2)", "~window(1)", "causal & ~window(1, 0) & strided(2)")
OTHERS = ("norm", "norm_place", "residual_scale", "activation")


def tables(catalog: Catalog) -> Iterator[dict[str, Any]]:
    """The examples of a folder as a run file has them; what holds tensors comes with a batch and not from a file."""
    for name in catalog.names:
        for chosen in settings_of(catalog, name):
            if not any(isinstance(value, Tensor) for value in chosen.values()):
                yield {"name": name} | {key: list(it) if isinstance(it, tuple) else it for key, it in chosen.items()}


def settings(kind: Any) -> dict[str, list[Any]]:
    """Every part that a run file can name, by the setting that it is a value of; and the other settings of layers."""
    hints = typing.get_type_hints(kind, include_extras=True)
    folders = {name: extra for name, hint in hints.items() for extra in getattr(hint, "__metadata__", ())}
    found: dict[str, list[Any]] = {
        name: list(tables(catalog))
        for name, catalog in ({"memory": MEMORIES} | folders).items()
        if isinstance(catalog, Catalog)
    }
    found["mask"] += COMPOSED
    return found | {name: list(alternatives(hints[name], getattr(kind(), name))) for name in OTHERS}


SETTINGS = {name: settings(MODELS.get(name)) for name in LAYERED}
CASES = [
    (name, setting, number)
    for name, chosen in SETTINGS.items()
    for setting, values in chosen.items()
    for number in range(len(values))
]


TURNS = 1 if "REGARD_TORTURE" in os.environ else 4
TRIED = [case for case in CASES if (LAYERED.index(case[0]) + case[2]) % TURNS == 0]


def shown(name: str, setting: str, number: int) -> str:
    """The setting as one would write it."""
    value = SETTINGS[name][setting][number]
    if not isinstance(value, dict):
        return f"{setting}={value}"
    return f"{setting}={value['name']}({', '.join(f'{key}={item}' for key, item in value.items() if key != 'name')})"


def designed(name: str, **chosen: Any) -> tuple[Design, Writer] | None:
    """The model, or None if it is refused, which must then be by one sentence that says where."""
    one_layer = {field: 1 for field in DEPTHS if hasattr(MODELS.get(name), field)}
    try:
        design = small(name, chosen, **one_layer)
        return design, writers.made(design)
    except ConfigError as error:
        assert str(error).startswith((f"{name}:", f"{name}.")), error
        assert "\n" not in str(error)
        return None


@cache
def accepted(name: str, setting: str, number: int) -> tuple[Design, Writer] | None:
    """The model with a part, and with others beside it where it needs them."""
    value = SETTINGS[name][setting][number]
    known = [beside for beside in BESIDE if all(hasattr(MODELS.get(name), other) for other in beside)]
    known = [beside for beside in known if "tie" not in beside or name not in TIED]
    tried = (designed(name, **(beside | {setting: value})) for beside in known)
    return next((found for found in tried if found is not None), None)


def allowed(design: Any) -> Tensor | None:
    """Which tokens a decoder of one layer may see, [target, target], where attention decides that."""
    if design.mixer.__class__ is not SelfAttention or design.mask is None:
        return None
    at = torch.arange(writers.TARGET.shape[1] + 1)
    return after_causality(design.mask)(at, at) | torch.eye(len(at)).bool()


@pytest.mark.parametrize(
    ("name", "setting", "number"), [pytest.param(*case, id=f"{case[0]}.{shown(*case)}") for case in TRIED]
)
def test_a_part_works_or_is_refused_when_it_is_built(name: str, setting: str, number: int, tmp_path: Path) -> None:
    found = accepted(name, setting, number)
    if found is None:
        return
    design, model = found[0], writers.stir(found[1])
    if isinstance(model, Writer):
        writers.steps_are_all_at_once(model)
        writers.rows_can_be_moved(model)
        writers.company_changes_nothing(model)
        writers.nothing_forbidden_is_seen(model, allowed(design))
    if isinstance(model, PictureModel):
        readers.other_pictures_change_nothing(model, sees="some")
    elif isinstance(model, Encoder) and name not in SEEING:
        readers.company_changes_nothing(model)
    learners.gradients_are_slopes(design, model)
    learners.saved_and_loaded_it_has_the_same_bytes(design, model.float(), tmp_path)


def test_every_part_works_in_some_model() -> None:
    """Refusals are for what cannot be, and not the rule."""
    working = {shown(*case) for case in CASES if accepted(*case) is not None}
    assert [shown(*case) for case in CASES if shown(*case) not in working] == []


@pytest.mark.parametrize("mask", [*tables(MASKS), *COMPOSED], ids=str)
@pytest.mark.parametrize("name", [name for name in LAYERED if "both" in MODELS.get(name).views and name not in SEEING])  # type: ignore[attr-defined]
def test_an_encoder_sees_what_its_mask_allows_and_nothing_else(name: str, mask: Any) -> None:
    found = designed(name, mask=mask)
    assert found is not None
    design, model = typing.cast(tuple[Any, Any], found)
    source, lengths = F.pad(writers.SOURCE, (0, 1)), writers.SOURCE_LENGTHS
    with writers.vectors_of(writers.stir(model)) as seen:
        encoded, _ = model.encode(source, lengths)
    vectors = seen(source)
    at = torch.arange(encoded.shape[1])
    allowed = design.mask(at, at) | torch.eye(len(at)).bool()
    for t in at.tolist():
        for row in (lengths > t).nonzero().flatten().tolist():
            gradient = sum(torch.autograd.grad(encoded[row, t] @ torch.randn(16).double(), vectors, retain_graph=True))
            assert torch.equal(gradient[row].any(-1), allowed[t] & (at < lengths[row]))
