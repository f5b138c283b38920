from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.data.graph_files import looks_like_graph, read_graph

FILES = {
    "edges.tsv": "a\tb\nb\tc\n",
    "features.tsv": "a\tred big:2.5\nb\tblue\nc\tred:0.5 red\n",
    "labels.tsv": "a\tfruit\nc\tstone\n",
    "split.tsv": "a\ttrain\nc\tvalid\n",
}
ARRAYS = {
    "edges": np.array([[0, 1], [1, 2]]),
    "features": np.arange(6.0).reshape(3, 2),
    "labels": np.array([1, -1, 0]),
    "train": np.array([0]),
    "test": np.array([False, False, True]),
}


def folder(place: Path, **changed: str | None) -> Path:
    for name, text in (FILES | {f"{key}.tsv": value for key, value in changed.items()}).items():
        if text is not None:
            (place / name).write_text(text, encoding="utf-8")
    return place


def arrays(place: Path, **changed: object) -> Path:
    kept = {name: value for name, value in (ARRAYS | changed).items() if value is not None}
    np.savez(place / "graph.npz", **kept)  # type: ignore[arg-type]
    return place / "graph.npz"


def test_a_folder_is_read(tmp_path: Path) -> None:
    graph = read_graph(folder(tmp_path))
    assert graph.nodes == ("a", "b", "c")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.feature_names == ("red", "big", "blue")
    assert graph.features.to_dense().tolist() == [[1, 2.5, 0], [0, 0, 1], [1.5, 0, 0]]
    assert graph.labels == ("fruit", None, "stone")
    assert {name: part.tolist() for name, part in graph.split.items()} == {"train": [0], "dev": [2], "test": []}
    assert looks_like_graph(tmp_path)


def test_features_are_put_in_the_order_of_a_trained_model(tmp_path: Path) -> None:
    graph = read_graph(folder(tmp_path), ("blue", "red"))
    assert graph.feature_names == ("blue", "red")
    assert graph.features.to_dense().tolist() == [[0, 1], [1, 0], [0, 1.5]]


def test_dense_features_stand_beside(tmp_path: Path) -> None:
    place = folder(tmp_path, features=None, edges="0\t1\n", labels="0\tx\n", split="0\ttrain\n")
    np.save(place / "features.npy", np.ones((2, 4)))
    graph = read_graph(place)
    assert graph.features.shape == (2, 4)
    assert graph.nodes == ("0", "1")


def test_arrays_are_read(tmp_path: Path) -> None:
    graph = read_graph(arrays(tmp_path))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.labels == ("1", None, "0")
    assert {name: part.tolist() for name, part in graph.split.items()} == {"train": [0], "test": [2]}
    assert looks_like_graph(tmp_path / "graph.npz")
    assert not looks_like_graph(tmp_path / "nothing.npz")
    sparse = {
        "features": None, "feature_indptr": np.array([0, 1, 1, 2]), "feature_indices": np.array([1, 0]),
        "feature_values": np.array([1.0, 2.0]), "feature_shape": np.array([3, 2]),
    }  # fmt: skip
    assert torch.equal(
        read_graph(arrays(tmp_path, **sparse)).features.to_dense(), torch.tensor([[0.0, 1], [0, 0], [2, 0]])
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"edges": "a\tb\na\tz\n"}, "edges.tsv: line 2: an edge names 'z', which has no features"),
        ({"edges": "a b\n"}, "edges.tsv: line 1: must have two columns with a tab between, but is 'a b'"),
        ({"labels": "z\tfruit\n"}, "labels.tsv: line 1: names node 'z', which has no features"),
        ({"labels": "a\tfruit\na\tstone\n"}, "labels.tsv: line 2: node 'a' comes a second time"),
        ({"split": "a\tlearn\n"}, "split.tsv: line 1: node 'a' must be of train, dev or test, but is of 'learn'"),
        ({"features": "a\tred:x\n"}, "features.tsv: line 1: behind the colon must stand a number, but there is 'x'"),
        (
            {"features": "a\tred:1e400\n"},
            "features.tsv: line 1: '1e400' is no number of float32, whose largest is 3.4e+38",
        ),
        ({"features": "a\tred\nb\tred:nan\n"}, "features.tsv: line 2: 'nan' is no number of float32"),
        ({"labels": "a\tfruit\nc\t\n"}, "labels.tsv: line 2: node 'c' has an empty label; leave it out"),
        ({"features": None}, "has neither features.tsv nor features.npy"),
    ],
)
def test_a_broken_folder_is_one_sentence(changed: dict[str, str | None], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError) as caught:
        read_graph(folder(tmp_path, **changed))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"edges": np.array([[0, 3]])}, "an edge names node 3, but there are only 3 nodes, from 0"),
        ({"edges": np.array([0, 1])}, "edges and labels must be [edges, 2] and [nodes], but are [2] and [3]"),
        ({"labels": None}, "has no array 'labels'; it has: edges, features, train, test"),
        ({"features": None}, "has no features: neither 'features' nor feature_indptr"),
        ({"features": np.ones((2, 2))}, "there are 3 labels, but features of the shape [2, 2]"),
        (
            {"features": np.array([[1, 2], [3, 1e300], [0, 0]])},
            "features[1, 1] is 1e+300, which is no number of float32",
        ),
        ({"features": np.array([["a"], ["b"], ["c"]])}, "features must be numbers, but are of the type <U1"),
        ({"edges": np.array([[0.5, 1]])}, "edges must be whole numbers of nodes, but are of the type float64"),
        ({"train": np.array([7])}, "'train' names node 7, but there are only 3 nodes, from 0"),
        ({"labels": np.array([{}, {}, {}], dtype=object)}, "not a graph"),
    ],
)
def test_broken_arrays_are_one_sentence(changed: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError) as caught:
        read_graph(arrays(tmp_path, **changed))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (np.ones(4), "features.npy: must have a row of features for each node, but has the shape [4]"),
        (np.array([[1.0], [np.inf]]), "features.npy: features[1, 0] is inf, which is no number of float32"),
    ],
)
def test_broken_dense_features_are_one_sentence(rows: np.ndarray, sentence: str, tmp_path: Path) -> None:
    place = folder(tmp_path, features=None)
    np.save(place / "features.npy", rows)
    with pytest.raises(RegardError) as caught:
        read_graph(place)
    assert sentence in str(caught.value)


def test_an_archive_without_labels_is_a_graph_all_the_same(tmp_path: Path) -> None:
    assert looks_like_graph(arrays(tmp_path, labels=None))


def test_other_files_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "graph.npz").write_bytes(b"PK but no archive")
    with pytest.raises(RegardError, match=r"not a graph: a folder with edges\.tsv, or an \.npz file of plain arrays"):
        read_graph(tmp_path / "graph.npz")
    with pytest.raises(RegardError, match="there is no such file or folder"):
        read_graph(tmp_path / "nowhere.npz")
