import sys
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.runs.log import Log
from regard.training.curves import draw_curves


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = Log(tmp_path / "log.jsonl")
    for step in range(1, 9):
        log.append("train", step, loss=3 / step, learning_rate=0.1 * step, perplexity=9.0)
    log.append("valid", 8, loss=0.5, perplexity=1.6, bleu=30.0)
    return log


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_log_becomes_a_picture(log: Log, name: str, start: bytes) -> None:
    path = log.path.with_name(name)
    draw_curves(log, path)
    assert path.read_bytes().startswith(start)
    assert {found.name for found in path.parent.iterdir()} == {name, "log.jsonl"}


def test_each_metric_has_its_curve(log: Log) -> None:
    path = log.path.with_name("a.svg")
    draw_curves(log, path)
    picture = path.read_text()
    assert all(f"<!-- {label} -->" in picture for label in ("loss", "perplexity", "bleu", "learning rate", "step"))


def test_equal_logs_give_equal_pictures(log: Log) -> None:
    pictures = []
    for name in ("a.png", "b.png"):
        draw_curves(log, log.path.with_name(name))
        pictures.append(log.path.with_name(name).read_bytes())
    assert pictures[0] == pictures[1]


def test_a_run_without_validations_is_drawn(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    log.append("train", 1, loss=1.0, learning_rate=0.1)
    draw_curves(log, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_what_cannot_be_drawn_is_said(log: Log, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="there is nothing to draw yet"):
        draw_curves(Log(tmp_path / "none.jsonl"), tmp_path / "a.png")
    with pytest.raises(RegardError, match=r"a\.xyz: cannot be drawn: .*xyz"):
        draw_curves(log, tmp_path / "a.xyz")


def test_without_matplotlib_the_way_to_it_is_said(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[plots\]'"):
        draw_curves(log, log.path.with_name("a.png"))
