"""Law: what was written is what counts, not in how many pieces it came; and a memory is a value."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.mask import MASKS
from regard.attention.memory import MEMORIES, Memory, MixedMemory, PairMemory
from regard.attention.multihead import Attention, MultiHead
from regard.attention.normalizer import NORMALIZERS
from regard.attention.position import POSITIONS, Bias
from regard.attention.reading import Reading
from regard.attention.score import SCORES
from regard.base.errors import CombinationError

from .examples import BATCH, HEADS, KEY_HEADS, SIZES, VALUE_WIDTH, WIDTH, build, examples

LENGTH = 9
PIECES = ([9], [1] * 9, [4, 5], [1, 3, 1, 4], [2, 0, 7], [0, 8, 1, 0])
GROUPED = replace(SIZES, key_heads=KEY_HEADS)

grad = pytest.mark.parametrize("learning", [True, False], ids=["learning", "no_grad"])


def mode(learning: bool) -> Any:
    return nullcontext() if learning else torch.no_grad()


def reading_of(memory: Any) -> Reading:
    """A way of reading that the memory takes."""
    for score, normalizer in ((SCORES.ScaledDot(), NORMALIZERS.Softmax()), (SCORES.Kernel(), NORMALIZERS.Ratio())):
        reading = Reading(score, normalizer)
        try:
            memory.start(reading)
        except CombinationError:
            continue
        return reading
    raise AssertionError(f"no reading was found for {memory}")


def started(memory: Memory) -> tuple[Memory, Reading]:
    built = build(memory, sizes=GROUPED)
    reading = reading_of(built)
    return built.start(reading), reading


def pairs(length: int = LENGTH) -> tuple[Tensor, Tensor]:
    key = torch.randn(BATCH, KEY_HEADS, length, WIDTH, dtype=torch.float64)
    return key, torch.randn(BATCH, KEY_HEADS, length, VALUE_WIDTH, dtype=torch.float64)


def queries(length: int = 2) -> Tensor:
    return torch.randn(BATCH, HEADS, length, WIDTH, dtype=torch.float64)


def cut(pieces: list[int]) -> Iterator[slice]:
    start = 0
    for size in pieces:
        yield slice(start, start + size)
        start += size


def write(memory: Memory, key: Tensor, value: Tensor, pieces: list[int], keep: Tensor | None = None) -> Memory:
    for here in cut(pieces):
        memory = memory.extend(key[:, :, here], value[:, :, here], None if keep is None else keep[:, here])
    return memory


def read(memory: Memory, reading: Reading, query: Tensor) -> Tensor:
    """What queries find that stand at the end of what was written, and after it."""
    at = torch.arange(query.shape[2]) + memory.length - 1
    return memory.read(reading, query, at)


@grad
@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_writing_in_pieces_is_writing_at_once(memory: Memory, learning: bool) -> None:
    empty, reading = started(memory)
    (key, value), query = pairs(), queries()
    for keep in (None, torch.rand(BATCH, LENGTH) < 0.6):
        with mode(learning):
            whole = read(write(empty, key, value, [LENGTH], keep), reading, query)
            assert whole.shape == (BATCH, HEADS, 2, VALUE_WIDTH)
            for pieces in PIECES:
                memory = write(empty, key, value, pieces, keep)
                assert memory.length == LENGTH
                torch.testing.assert_close(read(memory, reading, query), whole, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_keep_may_come_late_or_early(memory: Memory) -> None:
    empty, reading = started(memory)
    (key, value), query = pairs(), queries()
    keep = torch.rand(BATCH, LENGTH) < 0.6
    for late in (True, False):
        told = keep.clone()
        told[:, :4] |= late
        told[:, 4:] |= not late
        expected = read(write(empty, key, value, [LENGTH], told), reading, query)
        first = empty.extend(key[:, :, :4], value[:, :, :4], None if late else keep[:, :4])
        both = first.extend(key[:, :, 4:], value[:, :, 4:], keep[:, 4:] if late else None)
        torch.testing.assert_close(read(both, reading, query), expected, atol=1e-12, rtol=1e-12)


@grad
@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_a_pair_that_is_not_kept_leaves_no_trace(memory: Memory, learning: bool) -> None:
    empty, reading = started(memory)
    (key, value), query = pairs(), queries()
    keep = torch.ones(BATCH, LENGTH, dtype=torch.bool)
    keep[0, [2, 8]], keep[1, 7] = False, False
    hidden = ~keep[:, None, :, None]
    other_key = torch.where(hidden, torch.randn_like(key), key)
    other_value = torch.where(hidden, torch.full_like(value, 1e3), value)
    with mode(learning):
        for pieces in PIECES:
            memory, other = (write(empty, *sides, pieces, keep) for sides in ((key, value), (other_key, other_value)))
            assert torch.equal(read(memory, reading, query), read(other, reading, query))
            seen = write(empty, other_key, other_value, pieces)
            if read(seen, reading, query).any():
                assert not torch.equal(read(seen, reading, query), read(memory, reading, query))


@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_nothing_kept_reads_zeros(memory: Memory) -> None:
    empty, reading = started(memory)
    none = torch.zeros(BATCH, LENGTH, dtype=torch.bool)
    output = read(write(empty, *pairs(), [4, 5], none), reading, queries())
    assert torch.equal(output, torch.zeros_like(output))


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)], ids=["both", "key", "value"])
@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_gradients_pass_through_what_was_written_in_pieces(memory: Memory, needs: tuple[bool, bool]) -> None:
    empty, reading = started(memory)
    (key, value), query = pairs(), queries()
    key.requires_grad_(needs[0])
    value.requires_grad_(needs[1])
    found = []
    for pieces in PIECES:
        memory, total = empty, torch.zeros((), dtype=torch.float64)
        for here in cut(pieces):
            memory = memory.extend(key[:, :, here], value[:, :, here])
            if memory.length:  # counts for nothing, but what it read must stay as it was until the way back
                total = total + 0 * read(memory, reading, query).sum()
        total = total + memory.read(reading, query, torch.tensor([LENGTH - 1, LENGTH - 1])).square().sum()
        sides = [side for side in (key, value) if side.requires_grad]
        found.append(torch.autograd.grad(total, sides))
        assert all(gradient.isfinite().all() for gradient in found[-1])
    assert not needs[1] or found[0][-1].any()
    for gradients in found[1:]:
        torch.testing.assert_close(gradients, found[0], atol=1e-11, rtol=1e-11)


@grad
@pytest.mark.parametrize("size", [1, 3, 4, 5])
@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_a_memory_is_a_value(memory: Memory, size: int, learning: bool) -> None:
    """Going on from a memory twice, in different ways, leaves it and both of what came of it as they were."""
    empty, reading = started(memory)
    query, (key, value), (left_key, left_value), (right_key, right_value) = queries(), pairs(size), pairs(3), pairs(3)
    with mode(learning):
        trunk = write(empty, key, value, [1] * size)
        before = read(trunk, reading, query)
        left = write(trunk, left_key, left_value, [1, 2])
        right = write(trunk, right_key, right_value, [1, 1, 1])
        longer = write(left, right_key, right_value, [3])
        alone = {
            "left": write(empty, torch.cat([key, left_key], 2), torch.cat([value, left_value], 2), [size + 3]),
            "right": write(empty, torch.cat([key, right_key], 2), torch.cat([value, right_value], 2), [size + 3]),
        }
        assert empty.length == 0
        assert (trunk.length, left.length, right.length, longer.length) == (size, size + 3, size + 3, size + 6)
        assert torch.equal(read(trunk, reading, query), before)
        for name, branch in (("left", left), ("right", right)):
            expected = read(alone[name], reading, query)
            torch.testing.assert_close(read(branch, reading, query), expected, atol=1e-12, rtol=1e-12)


@grad
@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_reordering_picks_sequences(memory: Memory, learning: bool) -> None:
    empty, reading = started(memory)
    (key, value), (more_key, more_value) = pairs(), pairs(2)
    keep, picked, query = torch.rand(BATCH, LENGTH) < 0.6, torch.tensor([1, 1, 0]), queries()
    with mode(learning):
        for kept in (None, keep):
            memory = write(empty, key, value, [4, 5], kept)
            before = read(memory, reading, query)
            chosen = memory.reorder(picked)
            output = read(chosen, reading, query[picked])
            assert chosen.length == memory.length
            torch.testing.assert_close(output, before[picked], atol=1e-12, rtol=1e-12)
            longer = memory.extend(more_key, more_value)
            chosen = chosen.extend(more_key[picked], more_value[picked])
            expected = read(longer, reading, query)[picked]
            torch.testing.assert_close(read(chosen, reading, query[picked]), expected, atol=1e-12, rtol=1e-12)
            assert torch.equal(read(memory, reading, query), before)
        assert empty.reorder(picked).length == 0


@grad
@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_advancing_in_pieces_is_advancing_one_by_one(memory: Memory, learning: bool) -> None:
    empty, reading = started(memory)
    (key, value), query = pairs(), queries(LENGTH)
    mask = None if isinstance(empty, MixedMemory) else MASKS.Causal()
    with mode(learning):
        found = []
        for pieces in (piece for piece in PIECES if 0 not in piece):
            memory, outputs = empty, []
            for here in cut(pieces):
                at = torch.arange(LENGTH)[here]
                sides = query[:, :, here], key[:, :, here], value[:, :, here]
                output, memory = memory.advance(reading, *sides, at, mask)
                outputs.append(output)
            assert memory.length == LENGTH
            found.append(torch.cat(outputs, dim=2))
        for output in found[1:]:
            torch.testing.assert_close(output, found[0], atol=1e-12, rtol=1e-12)


def layer_with(memory: Memory, **settings: Any) -> MultiHead:
    """A layer whose score and normalizer the memory takes."""
    reading = reading_of(build(memory, sizes=GROUPED))
    chosen = {"heads": HEADS, "key_heads": KEY_HEADS, "score": reading.score, "normalizer": reading.normalizer}
    layer = Attention(**(chosen | {"memory": memory} | settings)).build(SIZES.width).double()
    with torch.no_grad():
        for parameter in layer.reading.parameters():
            parameter.normal_(std=0.7)
    return layer


def steps(layer: MultiHead, x: Tensor, pieces: list[int]) -> Tensor:
    memory, outputs = layer.start(), []
    for here in cut(pieces):
        output, memory = layer.advance(x[:, here], memory)
        outputs.append(output)
    return torch.cat(outputs, dim=1)


def in_steps() -> Iterator[Any]:
    """The memories that can be read through a causal mask, with the positions that they go with."""
    for memory in examples(MEMORIES):
        if not isinstance(memory.values[0], MixedMemory):
            for positions in (pytest.param(None, id="none"), *examples(POSITIONS)):
                if isinstance(memory.values[0], PairMemory) or not isinstance(positions.values[0], Bias):
                    yield pytest.param(*memory.values, *positions.values, id=f"{memory.id}-{positions.id}")


@grad
@pytest.mark.parametrize(("memory", "positions"), list(in_steps()))
def test_step_by_step_is_the_whole_at_once(memory: Memory, positions: Any, learning: bool) -> None:
    grouped = None if getattr(positions, "layers", None) == "every" else KEY_HEADS
    layer = layer_with(memory, mask="causal", positions=positions, key_heads=grouped)
    x = torch.randn(BATCH, LENGTH, SIZES.width, dtype=torch.float64)
    with mode(learning):
        whole = layer(x)
        for pieces in ([1] * 9, [4, 5], [1, 3, 1, 4]):
            torch.testing.assert_close(steps(layer, x, pieces), whole, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("mask", ["causal & window(2)", "causal & strided(2)", "prefix(2) & causal"])
@pytest.mark.parametrize(
    "memory", [example for example in examples(MEMORIES) if isinstance(example.values[0], PairMemory)]
)
def test_step_by_step_obeys_the_mask(memory: Memory, mask: str) -> None:
    layer = layer_with(memory, mask=mask)
    x = torch.randn(BATCH, LENGTH, SIZES.width, dtype=torch.float64)
    torch.testing.assert_close(steps(layer, x, [1, 3, 1, 4]), layer(x), atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_remembering_a_source_is_reading_from_it(memory: Memory) -> None:
    layer = layer_with(memory)
    x, source = (torch.randn(BATCH, length, SIZES.width, dtype=torch.float64) for length in (3, LENGTH))
    keep = torch.rand(BATCH, LENGTH) < 0.7
    at = torch.arange(3) + LENGTH
    for kept in (None, keep):
        mask = None if kept is None else kept[:, None, None]
        whole = layer(x, source, keep=mask, at=at, source_at=torch.arange(LENGTH))
        remembered = layer.remember(source, kept)
        torch.testing.assert_close(layer.read(x, remembered, at), whole, atol=1e-11, rtol=1e-11)
        first = layer.remember(source[:, :4], None if kept is None else kept[:, :4])
        both = layer.remember(source[:, 4:], None if kept is None else kept[:, 4:], first)
        torch.testing.assert_close(layer.read(x, both, at), whole, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_an_empty_memory_says_so(memory: Memory) -> None:
    empty, reading = started(memory)
    assert empty.length == 0
    with pytest.raises(CombinationError, match=r"\w+ memory: nothing was written yet"):
        empty.read(reading, queries(), torch.arange(2))


@pytest.mark.parametrize("memory", examples(MEMORIES))
def test_a_memory_does_not_read_what_it_cannot(memory: Memory) -> None:
    """Blended pairs take no bias and no mask on pairs; the sentence says what would do."""
    empty, reading = started(memory)
    if isinstance(empty, PairMemory):
        return
    written, at = write(empty, *pairs(), [LENGTH]), torch.arange(2)
    with pytest.raises(CombinationError, match="blends positions, so it cannot be read through a mask; leave out"):
        written.read(reading, queries(), at, MASKS.Window(2))
    biased = Reading(reading.score, reading.normalizer, build(POSITIONS.Alibi()))
    with pytest.raises(CombinationError, match=r"blends positions, so AlibiSlopes, a bias on pairs.*sinusoidal"):
        written.read(biased, queries(), at)
