"""Law: relative positions do not notice when all is moved; absolute ones do; and positions are told one by one."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.attention.position import POSITIONS, Bias, Position, Role

from .examples import BATCH, HEADS, LENGTH, SIZES, WHOLE_ROWS, WIDTH, biases, build, examples, parts

ROLES: tuple[Role, ...] = ("input", "projection", "query", "key", "value")
AT, KEY_AT = torch.tensor([0, 1, 2, 3, 4, 5, 6]), torch.tensor([3, 1, 0, 6, 2])


def shift_of(position: Position) -> int:
    names = {POSITIONS.get(name): name for name in POSITIONS.names}
    rows = WHOLE_ROWS.get(names[type(position)])
    return 5 if rows is None else 2 * rows


def vectors(role: Role, length: int = LENGTH) -> Tensor:
    if role in ("input", "projection"):
        return torch.randn(BATCH, length, SIZES.width, dtype=torch.float64)
    return torch.randn(BATCH, HEADS, length, WIDTH, dtype=torch.float64)


def logits(built: Any, query: Tensor, key: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
    """What positions add to the logits, or make of them."""
    if isinstance(built, Bias):
        bias: Tensor = built(query, key, query_at, key_at)
        return bias.expand(BATCH, HEADS, query.shape[2], key.shape[2])
    for role, other in (("query", "key"), ("projection", "projection"), ("input", "input")):
        pair = (query, key) if role == "query" else (query.transpose(1, 2).flatten(2), key.transpose(1, 2).flatten(2))
        placed = built.place(pair[0], query_at, role), built.place(pair[1], key_at, other)
        if placed[0] is not pair[0]:
            return placed[0] @ placed[1].mT
    raise AssertionError("the position acts nowhere")


@pytest.mark.parametrize("position", examples(POSITIONS))
def test_relative_means_that_moving_all_changes_nothing(position: Position) -> None:
    built, shift = build(position), shift_of(position)
    query, key = vectors("query"), vectors("key", len(KEY_AT))
    here, there = (logits(built, query, key, AT + moved, KEY_AT + moved) for moved in (0, shift))
    assert built.relative == position.relative
    if position.relative:
        torch.testing.assert_close(here, there, atol=1e-10, rtol=1e-10)
    else:
        placed = [
            [built.place(torch.zeros_like(vectors(role)), AT + moved, role) for role in ROLES] for moved in (0, 5)
        ]
        assert any((one - other).abs().max() > 1e-3 for one, other in zip(*placed, strict=True))


@pytest.mark.parametrize("position", examples(POSITIONS))
def test_moving_one_side_changes_something(position: Position) -> None:
    built = build(position)
    query, key = vectors("query"), vectors("key", len(KEY_AT))
    here, there = (logits(built, query, key, AT + moved, KEY_AT) for moved in (0, 5))
    assert (here - there).abs().max() > 1e-3


@pytest.mark.parametrize("position", examples(POSITIONS))
def test_a_sequence_of_its_own_positions_for_each_of_the_batch(position: Position) -> None:
    built = build(position)
    query, key = vectors("query"), vectors("key", len(KEY_AT))
    query_at, key_at = torch.stack([AT, AT.flip(0) + 2]), torch.stack([KEY_AT, KEY_AT.flip(0) + 1])
    together = logits(built, query, key, query_at, key_at)
    alone = [logits(built, query, key, query_at[n], key_at[n])[n] for n in range(BATCH)]
    torch.testing.assert_close(together, torch.stack(alone), atol=1e-12, rtol=1e-12)
    mixed = logits(built, query, key, query_at, KEY_AT)
    torch.testing.assert_close(mixed, logits(built, query, key, query_at, KEY_AT.expand(BATCH, -1)))
    mixed = logits(built, query, key, AT, key_at)
    torch.testing.assert_close(mixed, logits(built, query, key, AT.expand(BATCH, -1), key_at))


@pytest.mark.parametrize("position", examples(POSITIONS))
def test_some_positions_give_some_of_the_logits(position: Position) -> None:
    built, rows, columns = build(position), torch.tensor([5, 0, 2]), torch.tensor([4, 1])
    query, key = vectors("query"), vectors("key", len(KEY_AT))
    whole = logits(built, query, key, AT, KEY_AT)
    some = logits(built, query[:, :, rows], key[:, :, columns], AT[rows], KEY_AT[columns])
    torch.testing.assert_close(some, whole[..., rows, :][..., columns], atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("position", examples(POSITIONS))
def test_vectors_get_the_width_that_was_announced(position: Position, role: Role) -> None:
    before, built = vectors(role), build(position)
    after = built.place(before, AT, role)
    assert after.shape == (*before.shape[:-1], built.widened(before.shape[-1], role))
    assert after.dtype == before.dtype
    assert position.widened(before.shape[-1], role) == after.shape[-1]


@pytest.mark.parametrize("bias", biases())
def test_what_is_added_to_the_output_ignores_a_shift_too(bias: Bias) -> None:
    built, shift = build(bias), shift_of(bias)
    if built.reads_values:
        weights = torch.rand(BATCH, HEADS, LENGTH, len(KEY_AT), dtype=torch.float64)
        here, there = (built.output(weights, AT + moved, KEY_AT + moved) for moved in (0, shift))
        torch.testing.assert_close(here, there)
        assert here.shape == (BATCH, HEADS, LENGTH, SIZES.value_width)
    else:
        assert not hasattr(built, "values")


def test_the_examples_hold_both_kinds() -> None:
    assert {position.relative for position in parts(POSITIONS)} == {True, False}
