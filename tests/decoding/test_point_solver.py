import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.pointing import PointingRule
from regard.decoding.point_solver import Box, PointSolver
from regard.models.pointer import Pointer


@pytest.fixture(scope="module")
def solver() -> PointSolver:
    torch.manual_seed(1)
    model = Pointer(width=8, heads=2, encoder_layers=1, decoder_layers=1).build({"coordinates": 2})
    return PointSolver(model, PointingRule("all_once"), Box((10.0, 0.0), 4.0))


def test_the_box_keeps_proportions() -> None:
    box = Box.around([np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[2.0, 6.0]])])
    assert box == Box((1.0, 5.0), 2.0)
    assert box.scaled(np.array([[3.0, 6.0]])).tolist() == [[1.0, 0.5]]
    assert Box.around([np.array([[2.0, 2.0]])]).span == 1.0


def test_lines_are_answered(solver: PointSolver) -> None:
    lines = ['{"points": [[10, 1], [12, 3], [13, 0]]}', '{"points": [[10, 1], [11, 2]]}']
    first, second = solver.predict(lines)
    assert sorted(map(int, first.text.split())) == [0, 1, 2]
    assert sorted(second.details["answer"]) == [0, 1]
    assert solver.looked_at(np.array([[10.0, 1.0], [11.0, 2.0]]), second.details["answer"]).shape == (3, 3)


def test_many_inputs_and_a_beam(solver: PointSolver) -> None:
    inputs = list(np.random.default_rng(1).random((300, 3, 2)))
    found = solver.solve(inputs, beam=2)
    assert len(found) == 300
    assert all(len(answers) == 2 for answers in found)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("no", "line 1: not a JSON object"),
        ('{"points": []}', "line 1: there are no points to choose from"),
        ('{"points": [[1, 2, 3]]}', "line 1: vector 0 has 3 numbers, but 2 are expected"),
    ],
)
def test_mistakes_are_one_sentence(line: str, complaint: str, solver: PointSolver) -> None:
    with pytest.raises(RegardError, match=complaint):
        solver.predict([line])


def test_arrays_of_another_shape_are_refused(solver: PointSolver) -> None:
    with pytest.raises(UsageError, match=r"solve: input 0 must be \[points, 2\], with a point at least"):
        solver.solve([np.zeros((0, 2))])
