import json

import pytest
import torch

from regard.base.errors import RegardError
from regard.data.plan import BatchPosition
from regard.training.history import History
from regard.training.state import TrainingState, model_weights, seed_of, set_weights, with_ties

from . import examples


def test_it_survives_json() -> None:
    state = TrainingState(
        step=7, position=BatchPosition(epoch=1, index=3), seen=99,
        lines=4, sums={"loss": 0.1 + 0.2, "likelihood": 1 / 3},
        counted=5, validated=6, history=History().add(6, -1.5),
    )  # fmt: skip
    assert TrainingState.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    assert TrainingState.from_dict(TrainingState().to_dict()) == TrainingState()


def test_seeds_are_all_different_and_always_the_same() -> None:
    seeds = {seed_of(seed, step) for seed in range(20) for step in range(200)}
    assert len(seeds) == 4000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert seed_of(1, 23) != seed_of(12, 3)
    assert seed_of(1, 1) == 73533451931980509


def test_tied_weights_are_kept_once_and_restored_everywhere() -> None:
    model, other = examples.tiny(1), examples.tiny(2)
    once = model_weights(model)
    assert "embedding.weight" in once
    assert "output.weight" not in once
    assert with_ties(model, once).keys() == model.state_dict().keys()
    set_weights(other, once, "a")
    assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in model.state_dict().items())
    assert other.output.weight is other.embedding.weight


def test_weights_of_another_model_are_refused() -> None:
    with pytest.raises(RegardError, match=r"file: has no tensor 'middle\.bias'"):
        set_weights(examples.tiny(), {"embedding.weight": torch.ones(1)}, "file")


def test_a_state_from_before_losses_had_parts_is_read() -> None:
    table = TrainingState(step=3).to_dict()
    old = {key: value for key, value in table.items() if key not in ("seen", "sums")}
    read = TrainingState.from_dict(old | {"tokens": 9, "loss": 2.0, "likelihood": 1.5, "counted": 4})
    assert read == TrainingState(step=3, seen=9, sums={"loss": 2.0, "likelihood": 1.5}, counted=4)
