"""The tree of sums is the same however its leaves are shared out."""

from typing import Any

import pytest

from regard.training.tree import block, forest, halves, tree_sum

TREES = {2: "(01)", 3: "((01)2)", 4: "((01)(23))", 6: "(((01)(23))(45))"}


def spelled(left: Any, right: Any) -> str:
    return f"({left}{right})"


@pytest.mark.parametrize(("lanes", "expected"), TREES.items())
def test_neighbors_are_added_first(lanes: int, expected: str) -> None:
    leaves = {(lane, lane + 1): str(lane) for lane in range(lanes)}
    assert tree_sum((0, lanes), leaves, spelled) == expected


@pytest.mark.parametrize("lanes", range(1, 18))
def test_any_number_of_ranks_adds_in_the_same_order(lanes: int) -> None:
    leaves = {(lane, lane + 1): f"[{lane}]" for lane in range(lanes)}
    whole = tree_sum((0, lanes), leaves, spelled)
    for ranks in range(1, lanes + 1):
        blocks = [block(lanes, rank, ranks) for rank in range(ranks)]
        assert [lane for start, stop in blocks for lane in range(start, stop)] == list(range(lanes))
        assert all(stop > start for start, stop in blocks)
        nodes = [node for own in blocks for node in forest((0, lanes), own)]
        given = {node: tree_sum(node, leaves, spelled) for node in nodes}
        assert tree_sum((0, lanes), given, spelled) == whole


def test_halves_meet() -> None:
    assert halves((8, 15)) == ((8, 12), (12, 15))
