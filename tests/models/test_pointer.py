import math

import pytest
import torch

from regard.models.pointer import Pointer, PointerModel

SIZES = {"coordinates": 2}
LENGTHS = torch.tensor([5, 3, 4])
POINTS = torch.rand(3, 5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
CHOICES = torch.tensor([[1, 5, 2, 0], [3, 1, 0, -1], [2, 4, 3, 1]])
MIXERS = pytest.mark.parametrize("mixer", ["self_attention", "recurrent"])


def made(**settings: object) -> PointerModel:
    torch.manual_seed(1)
    small = {"width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "frequencies": 2}
    return Pointer(**(small | settings)).build(SIZES).double().eval()  # type: ignore[arg-type]


@MIXERS
def test_padding_is_never_pointed_at_and_changes_nothing(mixer: str) -> None:
    model = made(mixer=mixer)
    together = model(POINTS, LENGTHS, CHOICES)
    padding = torch.arange(6) > LENGTHS[:, None]
    assert together.transpose(1, 2)[padding].eq(-math.inf).all()
    assert together.transpose(1, 2)[~padding].isfinite().all()
    other = POINTS + 7.0 * padding[:, 1:, None]
    torch.testing.assert_close(model(other, LENGTHS, CHOICES), together)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = model(POINTS[row : row + 1, :length], LENGTHS[row : row + 1], CHOICES[row : row + 1])
        torch.testing.assert_close(together[row : row + 1, :, : length + 1], alone)


@MIXERS
def test_step_by_step_is_all_at_once(mixer: str) -> None:
    model = made(mixer=mixer)
    wanted, state = model(POINTS, LENGTHS, CHOICES), model.start(POINTS, LENGTHS).spread(2)
    for step in range(4):
        before = CHOICES[:, max(0, step - 1)].clamp(min=0).repeat_interleave(2)
        logits, state = model.step(before, state)
        torch.testing.assert_close(logits[::2], wanted[:, step])
        torch.testing.assert_close(logits[1::2], wanted[:, step])
    kept = state.real[torch.tensor([2, 0])]
    assert torch.equal(state.pick_sentences(torch.tensor([2, 0])).real, kept)


def test_permuting_the_points_permutes_the_choices() -> None:
    """F(P X) = P F(X): self-attention has no positions here."""
    model, order = made(), torch.tensor([3, 0, 4, 1, 2])
    whole, lengths = POINTS[:1], torch.tensor([5])
    choices = CHOICES[:1]
    renumbered = torch.cat((torch.zeros(1).long(), order.argsort() + 1))[choices]
    moved = model(whole[:, order], lengths, renumbered)
    torch.testing.assert_close(moved[:, :, 1:], model(whole, lengths, choices)[:, :, 1:][:, :, order])


def test_the_score_is_that_of_the_paper() -> None:
    """u_j = v · tanh(W₁ e_j + W₂ d), by a loop."""
    model = made()
    table, keep = model._table(POINTS, LENGTHS)
    hidden = torch.randn(3, 2, 16, dtype=torch.float64)
    found, weights = model._logits(hidden, table, keep), dict(model.pointer.reading.score.named_parameters())
    for_query, for_key, readout = (weights[name][0] for name in ("query_weight", "key_weight", "readout"))
    for row in range(3):
        for step in range(2):
            for at in range(int(LENGTHS[row]) + 1):
                wanted = readout @ torch.tanh(table[row, at] @ for_key + hidden[row, step] @ for_query)
                torch.testing.assert_close(found[row, step, at], wanted)
