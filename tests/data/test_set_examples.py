from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.data.set_examples import Scale, padded_sets, read_sets, real_elements


def written(place: Path, *lines: str) -> Path:
    (place / "sets.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place / "sets.jsonl"


def test_sets_are_read_also_empty_ones(tmp_path: Path) -> None:
    path = written(tmp_path, '{"elements": [], "target": 0}', '{"elements": [[1, 2], [3, 4]], "target": 7.5}')
    empty, filled = read_sets(path)
    assert empty.elements.shape == (0, 2)
    assert filled.target == (7.5,)
    classes = read_sets(written(tmp_path, '{"elements": [1, 2], "target": "even"}'))
    assert (classes[0].elements.shape, classes[0].target) == ((2, 1), "even")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"elements": [[1]], "target": 1}', "line 2: an element has 1 numbers, but 2 are expected"),
        ('{"elements": [[1, 2]]}', "line 2: has no 'target'; it has: elements"),
        ('{"elements": [[1, 2]], "target": "x"}', "line 2: the target is a class, but in the first line 1 numbers"),
        ('{"elements": [[1, 2]], "target": null}', "line 2: the target must be a number, a list of numbers or a class"),
        ('{"elements": [[1, 2]], "target": []}', "line 2: the target must be a number, a list of numbers or a class"),
        ('{"elements": [[1, 2]], "target": 1e39}', "line 2: the target has a number that is none of float32"),
        (
            f'{{"elements": [[1, 2]], "target": 1{"0" * 400}}}',
            "line 2: the target has a number that is none of float32",
        ),
        (
            '{"elements": [[1, 2]], "target": [1, 2]}',
            "line 2: the target is 2 numbers, but in the first line 1 numbers",
        ),
    ],
)
def test_mistakes_name_their_line(line: str, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, '{"elements": [[1, 2]], "target": 3}', line)
    with pytest.raises(RegardError) as caught:
        read_sets(path)
    assert complaint in str(caught.value)


def test_only_empty_sets_have_no_width(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="all sets are empty, so the width of an element is unknown"):
        read_sets(written(tmp_path, '{"elements": [], "target": 3}'))


def test_scales_go_back_and_forth() -> None:
    rows = np.array([[1.0, 5.0], [3.0, 5.0]])
    scale = Scale.of(rows)
    assert scale == Scale((2.0, 5.0), (1.0, 1.0))
    assert scale.scaled(rows).tolist() == [[-1, 0], [1, 0]]
    assert np.array_equal(scale.restored(scale.scaled(rows)), rows)
    assert Scale.from_dict({"mean": [2.0, 5.0], "deviation": [1.0, 1.0]}) == scale


def test_padding_is_behind_the_elements() -> None:
    scale = Scale((0.0,), (2.0,))
    sets, lengths = padded_sets([np.zeros((0, 1)), np.array([[4.0], [6.0]])], scale)
    assert sets[:, :, 0].tolist() == [[0, 0], [2, 3]]
    assert real_elements(sets, lengths).tolist() == [[False, False], [True, True]]
    assert padded_sets([np.zeros((0, 1))], scale)[0].shape == (1, 1, 1)
    assert torch.equal(lengths, torch.tensor([0, 2]))
