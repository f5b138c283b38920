"""A fixed binary tree of sums: the order in which the gradients of lanes are added, whoever computes them.

    sum(start, stop) = sum(start, middle) + sum(middle, stop),  middle - start = the largest power of two below the size

Floating-point sums depend on their order. The tree depends on the number of lanes alone, so that any number of
processes gets the same bits: each adds what lies wholly within its own lanes, and the rest is added in the same tree.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

Node = tuple[int, int]
"""the lanes from the first number up to, but not including, the second"""
_Value = TypeVar("_Value")


def block(lanes: int, rank: int, ranks: int) -> Node:
    """The lanes that a rank computes: an even part of all, in order."""
    return lanes * rank // ranks, lanes * (rank + 1) // ranks


def halves(node: Node) -> tuple[Node, Node]:
    """The two nodes that a node of two lanes or more is the sum of."""
    start, stop = node
    middle = start + (1 << (stop - start - 1).bit_length() - 1)
    return (start, middle), (middle, stop)


def forest(root: Node, own: Node) -> list[Node]:
    """The largest nodes of the tree that lie wholly within the lanes `own`, in order."""
    if own[0] <= root[0] and root[1] <= own[1]:
        return [root]
    if root[1] <= own[0] or own[1] <= root[0]:
        return []
    left, right = halves(root)
    return [*forest(left, own), *forest(right, own)]


def tree_sum(node: Node, given: Mapping[Node, _Value], add: Callable[[_Value, _Value], _Value]) -> _Value:
    """The sum of a node from those of the given nodes below it."""
    if node in given:
        return given[node]
    left, right = halves(node)
    return add(tree_sum(left, given, add), tree_sum(right, given, add))
