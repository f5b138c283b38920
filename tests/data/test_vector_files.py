import gzip
from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.data.pointing import PointingRule
from regard.data.vector_files import holds_objects_with, read_points, vectors_in


def written(place: Path, *lines: str) -> Path:
    (place / "points.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place / "points.jsonl"


def test_points_and_answers(tmp_path: Path) -> None:
    path = written(
        tmp_path, '{"points": [[1, 2], [3, 4.5]], "answer": [1, 0]}', "", '{"points": [[0, 0]], "answer": [0]}'
    )
    (first, answer), (second, _) = read_points(path, PointingRule())
    assert first.tolist() == [[1, 2], [3, 4.5]]
    assert answer == [1, 0]
    assert second.shape == (1, 2)
    packed = tmp_path / "packed.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(read_points(packed, PointingRule())) == 2


def test_plain_numbers_are_vectors_of_one() -> None:
    assert vectors_in([3, 1.5], "here").tolist() == [[3], [1.5]]
    assert vectors_in([], "here", width=4).shape == (0, 4)
    assert np.array_equal(vectors_in([[1, 2]], "here", width=2), [[1, 2]])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("[1, 2]", "not a JSON object"),
        ('{"answer": [0]}', "has no 'points'; it has: answer"),
        ('{"points": [[1, 2]]}', "has no 'answer'; it has: points"),
        ('{"points": 3, "answer": [0]}', "must be a list of vectors, but is 3"),
        ('{"points": [], "answer": []}', "there are no points to choose from"),
        ('{"points": [[1, "x"]], "answer": [0]}', "vector 0 must be numbers"),
        ('{"points": [[1, 2], []], "answer": [0]}', "vector 1 must be numbers"),
        ('{"points": [[1, 2], [3]], "answer": [0]}', "vector 1 has 1 numbers, but 2 are expected"),
        ('{"points": [[1, 2]], "answer": "0"}', "the answer must be a list of positions"),
        ('{"points": [[1, 2]], "answer": [1]}', "the answer names position 1, but there are 1 points, from 0"),
        ('{"points": [[1, 1e999]], "answer": [0]}', "line 2"),
        ('{"points": [[1, 1e39]], "answer": [0]}', "vector 0 has a number that is none of float32"),
        (f'{{"points": [[1, 1{"0" * 400}]], "answer": [0]}}', "vector 0 has a number that is none of float32"),
        ('{"points": [[1, null]], "answer": [0]}', "vector 0 must be numbers, but is [1,null]"),
    ],
)
def test_mistakes_name_their_line(line: str, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, '{"points": [[1, 2]], "answer": [0]}', line)
    with pytest.raises(RegardError, match=r"points\.jsonl, line 2") as caught:
        read_points(path, PointingRule())
    assert complaint in str(caught.value)


def test_files_are_told_by_their_keys(tmp_path: Path) -> None:
    path = written(tmp_path, '{"points": [[1, 2]], "answer": [0]}')
    assert holds_objects_with([path], "points", "answer")
    assert not holds_objects_with([path], "elements")
    assert not holds_objects_with([tmp_path / "none.jsonl"], "points")
