"""The pages of the lectures run from top to bottom, draw what they show, and are notebooks too."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
_SPEC = importlib.util.spec_from_file_location("lectures", ROOT / "docs" / "lectures.py")
assert _SPEC is not None
assert _SPEC.loader is not None
lectures: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(lectures)

NAMES = lectures.names()


def test_there_is_a_page_for_each_lecture() -> None:
    assert NAMES == ["language-models", "memory", "rnn-attention", "symmetry", "transformers", "translation"]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_runs_and_draws_every_picture_that_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them train small networks, for some seconds: what they show has to be learned."""
    monkeypatch.chdir(tmp_path)
    drawn = [file for file, _ in lectures.run(name)]
    text = (lectures.PAGES / f"{name}.md").read_text(encoding="utf-8")
    shown = list(lectures._IMAGE.findall(text))
    assert drawn == shown
    for file in shown:
        assert (lectures.PAGES / file).resolve().stat().st_size < 120_000


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_its_page(name: str) -> None:
    """`python docs/lectures.py` writes them; the format is that of nbformat 4.5."""
    file = lectures.NOTEBOOKS / f"{name}.ipynb"
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept == lectures.notebook(name), "run python docs/lectures.py"
    assert len({cell["id"] for cell in kept["cells"]}) == len(kept["cells"])
    for cell in kept["cells"]:
        wanted = {"id", "cell_type", "metadata", "source"}
        code = cell["cell_type"] == "code"
        assert cell.keys() == (wanted | {"outputs", "execution_count"} if code else wanted)
        if code:
            compile("".join(cell["source"]), file.name, "exec")


def test_the_cells_of_a_notebook_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    for cell in lectures.notebook("symmetry")["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), space)
    assert space["commutes"]["self-attention"]["permutation"]
