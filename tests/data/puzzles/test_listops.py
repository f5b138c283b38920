import numpy as np
import pytest

from regard.base.errors import ConfigError
from regard.data.puzzles.listops import Listops

NAMES = {11: "MIN", 12: "MAX", 13: "MED", 14: "SUM"}


def value_of(row: list[int]) -> int:
    """By a stack, from left to right."""
    stack: list[list[object]] = [[]]
    for symbol in row:
        if symbol in NAMES:
            stack.append([NAMES[symbol]])
        elif symbol == 15:
            name, *values = stack.pop()
            digits = sorted(int(str(value)) for value in values)
            middle = (digits[(len(digits) - 1) // 2] + digits[len(digits) // 2]) // 2
            stack[-1].append({"MIN": digits[0], "MAX": digits[-1], "MED": middle, "SUM": sum(digits) % 10}[str(name)])
        else:
            stack[-1].append(symbol - 1)
    ((value,),) = stack
    return int(str(value))


@pytest.mark.parametrize(("length", "depth"), [(4, 1), (12, 2), (60, 3), (200, 6)])
def test_the_answer_is_the_value(length: int, depth: int) -> None:
    puzzle, draw = Listops(length=length, depth=depth), np.random.default_rng(depth)
    deepest = 0
    for _ in range(60):
        row, answer = puzzle.draw(draw)
        assert len(row) <= length
        assert value_of(row.tolist()) == answer
        deepest = max(deepest, int(np.cumsum(np.isin(row, list(NAMES)).astype(int) - (row == 15)).max()))
    assert deepest <= depth


def test_a_length_without_room_is_told() -> None:
    with pytest.raises(ConfigError, match="listops: length must be at least 4, but is 3"):
        Listops(length=3)
