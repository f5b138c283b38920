import tomllib
from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.tasks.nodes import Nodes
from regard.tasks.run import run_of
from regard.tasks.task import Advice, Wishes, advice_for

from .graph_run import write_graph


def advised(place: Path, **wishes: object) -> Advice:
    found = Nodes.advise([write_graph(place)], Wishes(out=place / "run.toml", **wishes))  # type: ignore[arg-type]
    assert found is not None
    return found


def test_settings_fit_the_graph(tmp_path: Path) -> None:
    found = advised(tmp_path)
    run = run_of(tomllib.loads(found.text), "run")
    assert run.task.task_name() == "nodes"
    assert run.task.data.train == (Path("graph.npz"),)
    assert run.task.data.scaling == "none"  # some features are negative
    assert found.reasons[0].startswith("40 nodes, ")


def test_without_a_split_some_nodes_are_held_out(tmp_path: Path) -> None:
    path = write_graph(tmp_path, train=None, dev=None, test=None)
    found = Nodes.advise([path], Wishes(out=tmp_path / "run.toml"))
    assert found is not None
    assert run_of(tomllib.loads(found.text), "run").task.data.hold_out == 0.2
    assert "a fifth of the labeled nodes is held out" in found.reasons[1]
    kept = Nodes.advise([path], Wishes(out=tmp_path / "run.toml", hold_out=0))
    assert kept is not None
    assert "hold_out" not in kept.text
    assert run_of(tomllib.loads(advised(tmp_path).text), "run").task.data.hold_out == 0


def test_wishes_are_kept(tmp_path: Path) -> None:
    run = run_of(tomllib.loads(advised(tmp_path, preset="gcn", name="mine").text), "run")
    assert run.name == "mine"
    assert run.model.width == 16


def test_counts_are_scaled(tmp_path: Path) -> None:
    write_graph(tmp_path, features=np.ones((40, 3)))
    found = Nodes.advise([tmp_path / "graph.npz"], Wishes())
    assert found is not None
    assert 'scaling = "rows"' in found.text


def test_other_files_are_not_graphs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text\n", encoding="utf-8")
    assert Nodes.advise([tmp_path / "a.txt"], Wishes()) is None
    write_graph(tmp_path, labels=np.full(40, -1))
    with pytest.raises(RegardError, match="no node has a class"):
        Nodes.advise([tmp_path / "graph.npz"], Wishes())


def test_what_is_wrong_with_a_graph_is_said_though_texts_refuse_it_too(tmp_path: Path) -> None:
    for name, text in (("edges", "a\tb\na\tz\n"), ("features", "a\tx\nb\ty\n"), ("labels", "a\tred\nb\tblue\n")):
        (tmp_path / f"{name}.tsv").write_text(text)
    with pytest.raises(RegardError, match=r"edges.tsv: line 2: an edge names 'z', which has no features"):
        advice_for([tmp_path], Wishes(out=tmp_path / "run.toml"))
    np.savez(tmp_path / "far.npz", edges=np.array([[0, 1], [1, 9]]), features=np.eye(3), labels=np.array([0, 1, 0]))
    with pytest.raises(RegardError, match=r"far.npz: an edge names node 9, but there are only 3 nodes"):
        advice_for([tmp_path / "far.npz"], Wishes(out=tmp_path / "run.toml"))
