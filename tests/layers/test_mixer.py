import pytest
import torch

from regard.attention.masks.causal import Causal
from regard.attention.masks.padding import Padding
from regard.base.errors import CombinationError
from regard.layers.mixer import MIXERS, MixerState, check_past, kept_inputs

X = torch.randn(2, 5, 8, dtype=torch.float64)
LENGTHS = torch.tensor([5, 3])
KEEP = torch.arange(5) < LENGTHS[:, None]


def test_a_file_is_a_mixer() -> None:
    assert MIXERS.names == ("convolution", "recurrent", "self_attention")


@pytest.mark.parametrize("name", MIXERS.names)
def test_padding_changes_nothing(name: str) -> None:
    layer = MIXERS.make(name).build(8).double()
    for keep in (KEEP[:, None, None], Padding(LENGTHS)):
        output = layer(X, keep=keep)
        torch.testing.assert_close(output[1, :3], layer(X[1:, :3])[0])
        torch.testing.assert_close(output[:1], layer(X[:1]))


@pytest.mark.parametrize("name", MIXERS.names)
def test_step_by_step_is_all_at_once(name: str) -> None:
    design = MIXERS.make(name).causal()
    layer = design.build(8).double()
    whole = layer(X)
    for sizes in ((1, 1, 1, 1, 1), (2, 3), (4, 1)):
        state, outputs = layer.start(), []
        assert isinstance(state, MixerState)
        for part in X.split(list(sizes), dim=1):
            output, state = layer.advance(part, state)
            outputs.append(output)
        torch.testing.assert_close(torch.cat(outputs, dim=1), whole)


@pytest.mark.parametrize("name", MIXERS.names)
def test_rows_can_be_moved_and_gone_on_from_twice(name: str) -> None:
    layer = MIXERS.make(name).causal().build(8).double()
    _, state = layer.advance(X[:, :3], layer.start().reorder(torch.tensor([0, 1])))
    picked = state.reorder(torch.tensor([1, 1, 0]))
    output, _ = layer.advance(X[[1, 1, 0], 3:4], picked)
    again, _ = layer.advance(X[[1, 1, 0], 3:4], picked)
    whole = layer(X[:, :4])[:, 3]
    torch.testing.assert_close(output[:, 0], whole[[1, 1, 0]])
    assert torch.equal(output, again)


def test_what_has_no_pairs_refuses_masks_on_pairs() -> None:
    assert kept_inputs(None, X, "here") is None
    for keep in (Causal(), Causal() & Padding(LENGTHS), KEEP[:, None, :, None] & KEEP[:, None, None]):
        with pytest.raises(CombinationError, match=r"here: it has no pairs of positions, .* such as padding"):
            kept_inputs(keep, X, "here")
    found = kept_inputs(KEEP[:, None, None], X, "here")
    assert found is not None
    assert torch.equal(found, KEEP)


def test_who_sees_ahead_does_not_go_step_by_step() -> None:
    check_past("here", "past")
    with pytest.raises(CombinationError, match=r"here: it is bidirectional, .* use view='past'"):
        check_past("here", "both")
    for name in ("convolution", "recurrent"):
        with pytest.raises(CombinationError, match=f"{name}: it is bidirectional"):
            MIXERS.make(name).build(8).start()
