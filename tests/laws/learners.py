"""What holds for every model that is trained and kept, whatever it computes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.models.model import Design
from regard.models.writer import Writer
from regard.runs.artifact import load_artifact, save_artifact
from regard.runs.folder import RunFolder
from regard.training.progress import Progress, StepReport
from regard.training.settings import TrainingSettings
from regard.training.trainer import Trainer

from . import writers
from .items import Feed, artifact_of, item_for, run_with


def loss_of(design: Design, model: Any) -> Tensor:
    """What a step would make small."""
    return run_with(design).task.loss(model, as_precise(item_for(design), model)).total


def as_precise(item: Any, model: Any) -> Any:
    """The item with its floating-point numbers, such as features, in the type of the model's weights."""
    dtype = next(model.parameters()).dtype
    numbers = {name: value for name, value in vars(item).items() if isinstance(value, Tensor)}
    return replace(item, **{name: value.to(dtype) for name, value in numbers.items() if value.is_floating_point()})


def slope(design: Design, model: Any, moves: dict[Tensor, Tensor], reach: float = 1e-8) -> float:
    """How much the loss changes when weights move, by central differences; so near that hardly a kink lies between."""
    found = []
    with torch.no_grad():
        for way in (1, -2, 1):
            for weight, move in moves.items():
                weight += way * reach * move
            found.append(loss_of(design, model).item())
    return (found[0] - found[1]) / (2 * reach)


def gradients_are_slopes(design: Design, model: Any) -> None:
    """All weights at once in a random direction, by finite differences in double precision."""
    moves = {weight: torch.randn_like(weight) for weight in model.parameters()}
    gradients = torch.autograd.grad(loss_of(design, model), list(moves), materialize_grads=True)
    found = sum((gradient * move).sum().item() for gradient, move in zip(gradients, moves.values(), strict=True))
    assert found == pytest.approx(slope(design, model, moves), rel=1e-5, abs=1e-5)


def each_gradient_is_a_slope(design: Design, model: Any) -> None:
    """Each weight in a random direction, the others at rest."""
    names, weights = zip(*model.named_parameters(), strict=True)
    gradients = torch.autograd.grad(loss_of(design, model), weights, materialize_grads=True)
    for name, weight, gradient in zip(names, weights, gradients, strict=True):
        move = torch.randn_like(weight)
        found = (gradient * move).sum().item()
        assert found == pytest.approx(slope(design, model, {weight: move}), rel=1e-5, abs=1e-5), name


def mixed_precision_changes_little(design: Design, model: Any) -> None:
    """The loss and its gradient are about the same where products are computed in bfloat16."""
    weights = list(model.parameters())
    found = []
    for short in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=short):
            loss = loss_of(design, model)
        gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
        found.append((loss.item(), torch.cat([gradient.flatten() for gradient in gradients])))
    (exact, gradient), (near, other) = found
    assert near == pytest.approx(exact, rel=0.05, abs=0.05)
    assert torch.cosine_similarity(gradient, other, dim=0) > 0.9


def saved_and_loaded_it_has_the_same_bytes(design: Design, model: Any, folder: Path) -> None:
    """Written, read and written again; and it computes the same."""
    first, second = folder / "first.safetensors", folder / "second.safetensors"
    save_artifact(first, artifact_of(design).with_weights(model.state_dict()))
    loaded = load_artifact(first)
    again = loaded.model()
    assert loaded.design() == design
    save_artifact(second, loaded.with_weights(again.state_dict()))
    same = first.read_bytes() == second.read_bytes()  # in an assert, pytest would describe all that differs
    assert same
    assert torch.equal(loss_of(design, model), loss_of(design, again))
    if isinstance(model, Writer):
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
    Trainer(model, Feed(design), settings, RunFolder(folder), objective=run_with(design).task.loss, **given).run()
    return (folder / "model.safetensors").read_bytes()


def killed_and_resumed_it_ends_with_the_same_bytes(design: Design, folder: Path) -> None:
    """With dropout, so that random numbers count."""
    design = replace(design, **{name: 0.2 for name in vars(design) if name.endswith(("dropout", "_depth"))})
    undisturbed = trained(design, folder / "undisturbed")
    with pytest.raises(KilledError):
        trained(design, folder / "killed", killed_after=5)
    assert RunFolder(folder / "killed").checkpoints.steps() == [3]
    same = trained(design, folder / "killed") == undisturbed
    assert same
