"""Which precision a training computes in, by trials whose times are made up."""

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from regard.base import processor
from regard.training import mixed_precision
from regard.training.lanes import Lanes
from regard.training.mixed_precision import PrecisionCache, PrecisionTrial, is_faster_short, mixed, try_precisions

from . import examples
from .test_trainer import Watcher, trainer


@pytest.fixture(autouse=True)
def processor_with_bfloat16(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A processor that multiplies bfloat16, a cache of its own, and models that are never too small to try."""
    monkeypatch.setattr(processor, "announces_bfloat16", lambda: True)
    monkeypatch.setattr(processor, "refusal", lambda kind: None)
    monkeypatch.setattr(mixed_precision, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(mixed_precision, "_SMALLEST", 0.0)


def made_up(float32: float, bfloat16: float, agreement: float = 1.0) -> Callable[..., PrecisionTrial]:
    return lambda *_: PrecisionTrial(float32, bfloat16, agreement)


class Steps:
    """Backward passes that take made-up times, and give made-up gradients."""

    def __init__(self, times: dict[bool, list[float]], gradients: dict[bool, float]) -> None:
        self.times: dict[bool, Iterator[float]] = {short: cycle(own) for short, own in times.items()}
        self.gradients, self.now = gradients, 0.0
        self.weights = [nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(1))]
        self.done: list[bool] = []

    def __call__(self, short: bool) -> None:
        self.now += next(self.times[short])
        self.done.append(short)
        for weight in self.weights[:2]:  # the last has no gradient
            assert weight.grad is None
            weight.grad = torch.full_like(weight, 2.0)
            weight.grad[0] = self.gradients[short]

    def trial(self) -> PrecisionTrial:
        return try_precisions(self, self.weights, lambda: self.now)


def test_the_first_round_warms_up_and_the_least_time_counts() -> None:
    steps = Steps({False: [4.0, 0.3, 0.2], True: [4.0, 0.1, 0.15]}, {False: 2.0, True: 2.0})
    trial = steps.trial()
    assert steps.done == [False, True] * 3
    assert [trial.float32, trial.bfloat16, trial.agreement] == pytest.approx([0.2, 0.1, 1.0])
    assert trial.pays
    assert all(weight.grad is None for weight in steps.weights)


def test_a_slow_batch_is_tried_once() -> None:
    steps = Steps({False: [60.0], True: [30.0]}, {False: 2.0, True: 2.0})
    assert steps.trial().pays
    assert steps.done == [False, True]


@pytest.mark.parametrize(
    ("times", "gradients"),
    [
        ((0.2, 0.19), (2.0, 2.0)),
        ((0.2, 0.3), (2.0, 2.0)),
        ((0.2, 0.1), (2.0, -2.0)),
        ((0.2, 0.1), (2.0, float("nan"))),
        ((0.2, 0.1), (2.0, float("inf"))),
    ],
)
def test_float32_stays_where_bfloat16_is_no_faster_or_points_elsewhere(
    times: tuple[float, float], gradients: tuple[float, float]
) -> None:
    steps = Steps({False: [times[0]], True: [times[1]]}, {False: gradients[0], True: gradients[1]})
    assert not steps.trial().pays


def chosen(backward: Callable[[bool], Any], model: nn.Module | None = None, said: list[str] | None = None) -> bool:
    own = model or examples.tiny()
    return is_faster_short(own, examples.batch(1), Lanes(own, 1), backward, ([] if said is None else said).append)


def test_what_was_tried_is_kept_for_the_next_run(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(mixed_precision, "try_precisions", made_up(0.2, 0.1))
    assert chosen(lambda short: None, said=said)
    monkeypatch.setattr(mixed_precision, "try_precisions", made_up(0.1, 0.2))
    assert chosen(lambda short: None, said=said)
    assert not chosen(lambda short: None, nn.Sequential(examples.tiny(), nn.Linear(3, 3)))
    assert said[0] == said[1] and said[0].startswith(
        "matrix products in bfloat16 (training.precision): a batch takes 200"
    )
    PrecisionCache().path.write_text("{ damaged", encoding="utf-8")
    assert not chosen(lambda short: None)


def test_what_torch_has_not_in_bfloat16_stays_in_float32() -> None:
    model, said = examples.tiny(), list[str]()

    def backward(short: bool) -> None:
        model.norm.bias.grad = torch.ones(8)
        if short:
            raise RuntimeError("not implemented for 'BFloat16'")

    assert not chosen(backward, model, said)
    assert said == ["matrix products in float32 (training.precision): a part of the model does not compute in bfloat16"]
    assert all(weight.grad is None for weight in model.parameters())


def test_nothing_is_tried_where_it_cannot_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(short: bool) -> None:
        raise AssertionError

    assert not chosen(fails, nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))
    with monkeypatch.context() as changed:
        changed.setattr(mixed_precision, "_SMALLEST", 1e6)
        assert not chosen(fails)
    with monkeypatch.context() as changed:
        changed.setattr(processor, "refusal", lambda kind: "it ends the process")
        assert not chosen(fails)
    monkeypatch.setattr(processor, "announces_bfloat16", lambda: False)
    assert not chosen(fails)


def test_products_are_short_inside() -> None:
    x = torch.randn(2, 3)
    with mixed(x.device, False):
        assert (x @ x.mT).dtype == torch.float32
    with mixed(x.device, True):
        assert (x @ x.mT).dtype == torch.bfloat16


@pytest.mark.usefixtures("bfloat16")
def test_a_run_keeps_its_precision_and_the_trial_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer(tmp_path / "short", precision="bfloat16").run()
    monkeypatch.setattr(mixed_precision, "try_precisions", _tried)
    trainer(tmp_path / "chosen").run()
    assert same_models(tmp_path / "short", tmp_path / "chosen")
    trainer(tmp_path / "resumed", steps=11).run()
    monkeypatch.setattr(mixed_precision, "try_precisions", made_up(0.1, 0.2))
    PrecisionCache().path.unlink()
    trainer(tmp_path / "resumed").run()
    assert same_models(tmp_path / "short", tmp_path / "resumed")
    trainer(tmp_path / "slower").run()
    trainer(tmp_path / "long", precision="float32").run()
    assert same_models(tmp_path / "slower", tmp_path / "long")
    assert not same_models(tmp_path / "short", tmp_path / "long")


def test_where_bfloat16_does_not_work_a_run_goes_on_in_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixed_precision, "try_precisions", made_up(0.2, 0.1))
    trainer(tmp_path, steps=11).run()
    monkeypatch.setattr(processor, "refusal", lambda kind: "the bfloat16 product ends the process")
    watcher = Watcher()
    trainer(tmp_path, watcher).run()
    (note,) = watcher.notes
    assert note == (
        "this run computes in bfloat16, but goes on in float32, to other digits: the bfloat16 product ends the process"
    )


def _tried(backward: Callable[[bool], Any], weights: Any) -> PrecisionTrial:
    """A real trial, with other times."""
    trial = try_precisions(backward, weights)
    assert trial.agreement > 0.99
    return PrecisionTrial(0.2, 0.1, trial.agreement)


def same_models(one: Path, other: Path) -> bool:
    return (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
