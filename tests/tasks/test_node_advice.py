import tomllib
from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.tasks.nodes import Nodes
from regard.tasks.run import run_of
from regard.tasks.task import Advice, Wishes

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
