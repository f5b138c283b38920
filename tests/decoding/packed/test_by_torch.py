"""What is special about the packed decoder by torch; its numbers are compared in test_decoder and in tests/laws."""

import torch

from regard.decoding.packed.by_torch import Packed, PackedState
from regard.models.gpt import Gpt


@torch.inference_mode()
def test_what_no_hypothesis_sees_is_cleared_away() -> None:
    fast = Packed(Gpt(layers=2, width=16, heads=2, feedforward=24).build({"text": 70}).eval())
    state: PackedState = fast.step(torch.tensor([5]), fast.start(None, None, 1))[1].spread(4)
    for _ in range(60):
        _, state = fast.step(torch.randint(4, 70, (4,)), state)
        state = state.reorder(torch.zeros(4, dtype=torch.long))  # all go on from the first
    assert state.length == 61
    assert state.seen.shape[2] < 2 * 61  # and not 4 · 61
