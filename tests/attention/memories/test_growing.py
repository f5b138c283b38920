import pytest
import torch
from torch import Tensor

from regard.attention.masks.causal import Causal
from regard.attention.memories.growing import Growing
from regard.attention.multihead import Attention
from regard.attention.normalizers.softmax import Softmax
from regard.attention.reading import Reading
from regard.attention.scores.scaled_dot import ScaledDot

READING = Reading(ScaledDot(), Softmax())


def pair(length: int = 1, batch: int = 2) -> tuple[Tensor, Tensor]:
    return torch.randn(batch, 2, length, 4), torch.randn(batch, 2, length, 3)


def test_holds_what_was_written_in_its_place() -> None:
    memory, written = Growing().start(READING), [pair() for _ in range(5)]
    with torch.no_grad():
        for key, value in written:
            memory = memory.extend(key, value)
    assert memory.length == 5
    assert torch.equal(memory.key, torch.cat([key for key, _ in written], dim=2))
    assert torch.equal(memory.value, torch.cat([value for _, value in written], dim=2))
    assert memory.at.tolist() == [0, 1, 2, 3, 4]
    assert memory.kept is None


def test_writing_one_more_does_not_copy_the_others() -> None:
    """The room doubles, so that of 200 writes only a few make new room."""
    memory, rooms = Growing(), set()
    with torch.no_grad():
        for _ in range(200):
            memory = memory.extend(*pair())
            rooms.add(memory.key.untyped_storage().data_ptr())
    assert len(rooms) < 12


def test_what_is_not_kept_is_hidden() -> None:
    (key, value), query = pair(4), torch.randn(2, 2, 3, 4)
    keep = torch.tensor([[True, False, True, True], [False, True, True, False]])
    output = Growing().extend(key, value, keep).read(READING, query, torch.arange(3))
    torch.testing.assert_close(output, READING(query, key, value, keep[:, None, None]))


def test_reads_through_a_mask() -> None:
    (key, value), query = pair(4), torch.randn(2, 2, 3, 4)
    at = torch.arange(3)
    output = Growing().extend(key, value).read(READING, query, at, Causal())
    torch.testing.assert_close(output, READING(query, key, value, Causal(), at, torch.arange(4)))
    batched = torch.stack([at, at + 1])
    output = Growing().extend(key, value).read(READING, query, batched, Causal())
    torch.testing.assert_close(output, READING(query, key, value, Causal(), batched, torch.arange(4).expand(2, -1)))


def test_decoding_equals_the_whole_with_beams_that_part() -> None:
    layer = Attention(heads=2, mask="causal").build(8).eval()
    one, other = torch.randn(1, 6, 8), torch.randn(1, 6, 8)
    other[:, :3] = one[:, :3]
    with torch.no_grad():
        _, memory = layer.advance(one[:, :3], layer.start())
        memory = memory.reorder(torch.tensor([0, 0]))
        outputs = []
        for step in range(3, 6):
            output, memory = layer.advance(torch.cat([one, other])[:, step : step + 1], memory)
            outputs.append(output)
        whole = layer(torch.cat([one, other]))
    torch.testing.assert_close(torch.cat(outputs, dim=1), whole[:, 3:])


@pytest.mark.parametrize("first", ["learning", "no_grad"])
def test_learning_and_not_learning_may_take_turns(first: str) -> None:
    pieces = [pair(2) for _ in range(3)]
    memory = Growing()
    for turn, (key, value) in enumerate(pieces):
        with torch.set_grad_enabled((turn % 2 == 0) == (first == "learning")):
            memory = memory.extend(key.clone().requires_grad_(), value.clone().requires_grad_())
    assert torch.equal(memory.key, torch.cat([key for key, _ in pieces], dim=2))
    assert torch.equal(memory.value, torch.cat([value for _, value in pieces], dim=2))
