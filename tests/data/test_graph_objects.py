import pytest
import torch

from regard.base.errors import RegardError
from regard.data.graph_objects import graph_in


def test_rows_of_numbers_and_words() -> None:
    dense = graph_in({"features": [[1, 2], [3, 4]], "edges": [[0, 1], ["1", 0]]}, "q", (), 2)
    assert dense.nodes == ("0", "1")
    assert dense.edges.tolist() == [[0, 1], [1, 0]]
    assert dense.features.tolist() == [[1, 2], [3, 4]]
    named = graph_in(
        {"features": {"a": "red red round:2", "b": ["blue"]}, "edges": [["a", "b"]]}, "q", ("red", "round"), 2
    )
    assert named.nodes == ("a", "b")
    torch.testing.assert_close(named.features.to_dense(), torch.tensor([[2.0, 2.0], [0.0, 0.0]]))
    assert graph_in({"features": {"a": [1.0]}, "edges": []}, "q", (), 1).edges.shape == (2, 0)


@pytest.mark.parametrize(
    ("record", "names", "complaint"),
    [
        ({"edges": []}, (), "has no 'features'"),
        ({"features": [[1]]}, (), "has no 'edges'"),
        ({"features": [[1]], "edges": {}}, (), "edges must be a list"),
        ({"features": [[1]], "edges": []}, ("red",), "knows features by name"),
        ({"features": {"a": [1]}, "edges": []}, ("red",), "must be words"),
    ],
)
def test_mistakes_are_one_sentence(record: dict[str, object], names: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(RegardError, match=complaint):
        graph_in(record, "q", names, 1)
