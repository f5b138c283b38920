from collections.abc import Callable
from pathlib import Path


def test_groups_are_learned_measured_and_drawn(shown: Callable[..., list[str]]) -> None:
    lines = shown("graph", "model.width=8")
    assert any(line.startswith("accuracy ") and "whose group it was not told" in line for line in lines)
    assert Path("regard-demo/graph/graph.png").read_bytes().startswith(b"\x89PNG")
    assert lines[-1].endswith("regard-demo/graph/club.npz 7")
