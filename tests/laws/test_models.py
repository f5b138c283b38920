"""Laws for models: whatever a model is made of, they hold. Every file in `regard/models` is tried on arrival."""

import typing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

from regard.models.model import MODELS, Design, Encoder
from regard.models.pictured import PictureModel
from regard.models.writer import Writer
from regard.tasks.run import read_run

from . import learners, readers, writers
from .alternatives import changes
from .designs import SMALL, complete, designs, offering, plain_designs, small
from .items import run_with, tables_with

every = pytest.mark.parametrize("design", designs())
plain = pytest.mark.parametrize("design", plain_designs())
every_writer = pytest.mark.parametrize("design", offering(Writer, designs()))
plain_writer = pytest.mark.parametrize("design", offering(Writer, plain_designs()))
encoders = [param for param in offering(Encoder, designs()) if {"source", "text"} & set(param.values[0].needs)]
every_encoder = pytest.mark.parametrize("design", encoders)  # of texts
every_picture_model = pytest.mark.parametrize("design", offering(PictureModel, designs()))


@pytest.mark.parametrize("name", MODELS.names)
def test_a_model_can_be_made_from_its_name_alone(name: str) -> None:
    assert complete(name), f"models/{name}.py: every setting of a design has a default, so that it can be tried"


@every_writer
def test_step_by_step_is_all_at_once(design: Design) -> None:
    writers.steps_are_all_at_once(writers.stirred(design))


@every_writer
def test_rows_can_be_moved(design: Design) -> None:
    writers.rows_can_be_moved(writers.stirred(design))


@every_writer
def test_company_changes_nothing(design: Design) -> None:
    writers.company_changes_nothing(writers.stirred(design))


@every_writer
def test_nothing_forbidden_is_seen(design: Design) -> None:
    writers.nothing_forbidden_is_seen(writers.stirred(design))


@every_encoder
def test_company_changes_no_features(design: Design) -> None:
    readers.company_changes_nothing(writers.stirred(design))


@every_encoder
def test_features_see_nothing_forbidden(design: Design) -> None:
    readers.nothing_forbidden_is_seen(writers.stirred(design))


@every_picture_model
def test_company_changes_no_picture(design: Design) -> None:
    readers.other_pictures_change_nothing(writers.stirred(design))


@plain_writer
def test_in_single_precision(design: Design) -> None:
    model = writers.stirred(design, torch.float32)
    writers.steps_are_all_at_once(model)
    writers.company_changes_nothing(model)


@every_writer
def test_every_weight_learns(design: Design) -> None:
    writers.every_weight_learns(writers.stirred(design))


@plain_writer
def test_a_few_sentences_are_learned(design: Design) -> None:
    writers.a_few_sentences_are_learned(design, rate=0.02, steps=60)


@every
def test_gradients_are_slopes(design: Design) -> None:
    learners.gradients_are_slopes(design, writers.stirred(design))


@every
@pytest.mark.usefixtures("bfloat16")
def test_in_mixed_precision(design: Design) -> None:
    learners.mixed_precision_changes_little(design, writers.stirred(design, torch.float32))


@plain
def test_the_gradient_of_each_weight_is_its_slope(design: Design) -> None:
    learners.each_gradient_is_a_slope(design, writers.stirred(design))


@every
def test_saved_and_loaded_it_has_the_same_bytes(design: Design, tmp_path: Path) -> None:
    learners.saved_and_loaded_it_has_the_same_bytes(design, writers.stirred(design, torch.float32), tmp_path)


@plain
def test_killed_and_resumed_it_ends_with_the_same_bytes(design: Design, tmp_path: Path) -> None:
    learners.killed_and_resumed_it_ends_with_the_same_bytes(design, tmp_path)


# Settings


def settings() -> list[Any]:
    found = [(name, *change) for name in MODELS.names for change in changes(MODELS.get(name))]
    return [pytest.param(*one, id=f"{one[0]}.{one[1]}={one[2]}") for one in found]


@pytest.mark.parametrize(("name", "setting", "value"), settings())
def test_every_setting_is_reached_from_a_run_file(name: str, setting: str, value: Any, tmp_path: Path) -> None:
    """Written in the file or on the command line, a value is that of the design, and is kept in the run's own copy."""
    table = {"name": "law"} | tables_with({"name": name})
    plain_run, changed_run, kept = (tmp_path / f"{part}.toml" for part in ("plain", "changed", "kept"))
    plain_run.write_text(tomli_w.dumps(table), encoding="utf-8")
    changed_run.write_text(tomli_w.dumps(table | {"model": {"name": name, setting: value}}), encoding="utf-8")
    before, after = read_run(plain_run).model, read_run(changed_run).model
    assert getattr(after, setting) != getattr(before, setting)
    assert not isinstance(value, int | float) or getattr(after, setting) == value
    others = vars(after).keys() - {setting}
    assert {other: getattr(after, other) for other in others} == {other: getattr(before, other) for other in others}
    if not isinstance(value, dict):
        assert read_run(plain_run, [f"model.{setting}={value}"]).model == after
    kept.write_text(run_with(after).to_toml(), encoding="utf-8")
    assert read_run(kept).model == after


def test_settings_are_tried_by_every_type() -> None:
    """What the table of other values does not know, it would leave out."""
    tried = {(one.values[0], one.values[1]) for one in settings()}
    assert tried == {(name, field.name) for name in MODELS.names for field in fields(MODELS.get(name))}


# Sizes


@pytest.mark.parametrize("name", [name for name in MODELS.names if "heads" in typing.get_type_hints(MODELS.get(name))])
def test_the_number_of_parameters_does_not_depend_on_heads(name: str) -> None:
    counts = set()
    for heads in (1, 2, 4):
        model = writers.made(small(name, heads=heads))
        # A table of position biases has a row for each head.
        named = [weight for part, weight in model.named_parameters() if ".reading.positions." not in part]
        counts.add(sum(weight.numel() for weight in named))
    assert len(counts) == 1
    assert SMALL["width"] % 4 == 0
