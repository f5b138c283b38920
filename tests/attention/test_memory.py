import pytest
import torch

from regard.attention.masks.causal import Causal
from regard.attention.masks.window import Window
from regard.attention.memory import MEMORIES, Memory, MixedMemory, both
from regard.attention.normalizers.softmax import Softmax
from regard.attention.reading import Reading
from regard.attention.scores.dot import Dot
from regard.base.errors import ConfigError, UsageError


def test_both_is_what_both_allow() -> None:
    assert both(None, None) is None
    assert both(Causal(), None) == Causal()
    assert both(None, Causal()) == Causal()
    assert both(Causal(), Window(2)) == Causal() & Window(2)


def test_a_memory_without_a_way_of_its_own_says_so() -> None:
    reading, pair = Reading(Dot(), Softmax()), torch.randn(1, 1, 2, 3)
    uses = (
        lambda: Memory().start(reading),
        lambda: Memory().extend(pair, pair),
        lambda: Memory().read(reading, pair, torch.arange(2)),
        lambda: Memory().reorder(torch.tensor([0])),
        lambda: MixedMemory().blended(),
    )
    for use in uses:
        with pytest.raises(UsageError, match="Memory has weights"):
            use()
    assert Memory().reach() is None


def test_unknown_memories_are_named_with_the_nearest() -> None:
    with pytest.raises(
        ConfigError, match=r"attention\.memory: unknown 'growin' \(did you mean 'growing'\?\); memories are"
    ):
        MEMORIES.make("growin", "attention.memory")
