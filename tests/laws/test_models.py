"""Laws for models: whatever a model is made of, they hold. Every file in `regard/models` is tried on arrival."""

import typing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from torch import Tensor

from regard.apps.run_settings import read_run
from regard.base.config import to_toml
from regard.models.model import MODELS, Design
from regard.runs.artifact import load_artifact, save_artifact
from regard.runs.folder import RunFolder
from regard.training.loss import CrossEntropy
from regard.training.progress import Progress, StepReport
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer

from . import writers
from .alternatives import changes
from .designs import SMALL, complete, designs, plain_designs, small
from .items import Feed, artifact_of, item_for, run_with

every = pytest.mark.parametrize("design", designs())
plain = pytest.mark.parametrize("design", plain_designs())


@pytest.mark.parametrize("name", MODELS.names)
def test_a_model_can_be_made_from_its_name_alone(name: str) -> None:
    assert complete(name), f"models/{name}.py: every setting of a design has a default, so that it can be tried"


@every
def test_step_by_step_is_all_at_once(design: Design) -> None:
    writers.steps_are_all_at_once(writers.stirred(design))


@every
def test_rows_can_be_moved(design: Design) -> None:
    writers.rows_can_be_moved(writers.stirred(design))


@every
def test_company_changes_nothing(design: Design) -> None:
    writers.company_changes_nothing(writers.stirred(design))


@every
def test_nothing_forbidden_is_seen(design: Design) -> None:
    writers.nothing_forbidden_is_seen(writers.stirred(design))


@plain
def test_in_single_precision(design: Design) -> None:
    model = writers.stirred(design, torch.float32)
    writers.steps_are_all_at_once(model)
    writers.company_changes_nothing(model)


@every
def test_every_weight_learns(design: Design) -> None:
    writers.every_weight_learns(writers.stirred(design))


@plain
def test_a_few_sentences_are_learned(design: Design) -> None:
    writers.a_few_sentences_are_learned(design, rate=0.02, steps=60)


# Gradients


def loss_of(design: Design, model: Any) -> Tensor:
    return CrossEntropy(smoothing=0.1)(model, item_for(design)).total


def slope(design: Design, model: Any, moves: dict[Tensor, Tensor], reach: float = 1e-7) -> float:
    """How much the loss changes when weights move, by central differences; so near that hardly a kink lies between."""
    found = []
    with torch.no_grad():
        for way in (1, -2, 1):
            for weight, move in moves.items():
                weight += way * reach * move
            found.append(loss_of(design, model).item())
    return (found[0] - found[1]) / (2 * reach)


@every
def test_gradients_are_slopes(design: Design) -> None:
    """All weights at once in a random direction, by finite differences in double precision."""
    model = writers.stirred(design)
    moves = {weight: torch.randn_like(weight) for weight in model.parameters()}
    gradients = torch.autograd.grad(loss_of(design, model), list(moves))
    found = sum((gradient * move).sum().item() for gradient, move in zip(gradients, moves.values(), strict=True))
    assert found == pytest.approx(slope(design, model, moves), rel=1e-5, abs=1e-5)


@plain
def test_the_gradient_of_each_weight_is_its_slope(design: Design) -> None:
    model = writers.stirred(design)
    names, weights = zip(*model.named_parameters(), strict=True)
    for name, weight, gradient in zip(
        names, weights, torch.autograd.grad(loss_of(design, model), weights), strict=True
    ):
        move = torch.randn_like(weight)
        found = (gradient * move).sum().item()
        assert found == pytest.approx(slope(design, model, {weight: move}), rel=1e-5, abs=1e-5), name


# Files


@every
def test_saved_and_loaded_it_has_the_same_bytes(design: Design, tmp_path: Path) -> None:
    model = writers.stirred(design, torch.float32)
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    save_artifact(first, artifact_of(design).with_weights(model.state_dict()))
    loaded = load_artifact(first)
    again = loaded.model()
    assert loaded.design() == design
    save_artifact(second, loaded.with_weights(again.state_dict()))
    assert first.read_bytes() == second.read_bytes()
    inputs = *writers.sources(model), writers.TARGET
    assert torch.equal(model(*inputs), again(*inputs))


class KilledError(Exception):
    """The end of a process, played."""


class Killing(Progress):
    """Ends everything after a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def stepped(self, report: StepReport) -> None:
        if report.step == self.step:
            raise KilledError


def trained(design: Design, folder: Path, killed_after: int = 0) -> bytes:
    """The file of the model after six steps with a checkpoint after three, or as far as it comes."""
    folder.mkdir(exist_ok=True)
    torch.manual_seed(1)
    model = design.build(dict.fromkeys(design.needs, writers.VOCABULARY))
    settings = TrainingSettings(steps=6, checkpoint_every=3, validate_every=100)
    given = {"progress": Killing(killed_after), "artifact": artifact_of(design)}
    Trainer(model, Feed(design), settings, RunFolder(folder), **given).run()
    return (folder / "model.safetensors").read_bytes()


@plain
def test_killed_and_resumed_it_ends_with_the_same_bytes(design: Design, tmp_path: Path) -> None:
    design = replace(design, **{name: 0.2 for name in vars(design) if name.endswith("dropout")})
    undisturbed = trained(design, tmp_path / "undisturbed")
    with pytest.raises(KilledError):
        trained(design, tmp_path / "killed", killed_after=5)
    assert RunFolder(tmp_path / "killed").checkpoints.steps() == [3]
    assert trained(design, tmp_path / "killed") == undisturbed


# Settings


def settings() -> list[Any]:
    found = [(name, *change) for name in MODELS.names for change in changes(MODELS.get(name))]
    return [pytest.param(*one, id=f"{one[0]}.{one[1]}={one[2]}") for one in found]


@pytest.mark.parametrize(("name", "setting", "value"), settings())
def test_every_setting_is_reached_from_a_run_file(name: str, setting: str, value: Any, tmp_path: Path) -> None:
    """Written in the file or on the command line, a value is that of the design, and is kept in the run's own copy."""
    table = {"name": "law", "data": {"train": ["text"]}, "model": {"name": name}}
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
    kept.write_text(to_toml(run_with(after)), encoding="utf-8")
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
        counts.add(sum(weight.numel() for weight in model.parameters()))
    assert len(counts) == 1
    assert SMALL["width"] % 4 == 0
