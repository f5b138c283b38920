import json
from pathlib import Path

from tests.apps.commands.test_predict import written
from tests.apps.running import Run
from tests.representation.test_probing import LINES, write


def test_a_page_and_its_numbers(tmp_path: Path, run: Run) -> None:
    model, data = str(written(tmp_path, "embed")), str(write(tmp_path / "data.tsv", LINES))
    out = tmp_path / "report.html"
    done = run("represent", model, data, "--beside", model, "--shots", "1", "--draws", "1", "--no-baselines",
               "--out", str(out))  # fmt: skip
    assert done.lines[-1] == f"wrote {out} and {tmp_path / 'report.json'}"
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    numbers = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in numbers["encoders"]] == ["embed.safetensors", model]


def test_nothing_is_written_on_a_mistake(tmp_path: Path, run: Run) -> None:
    data = write(tmp_path / "data.tsv", ["a\tthe cat", "b\tthe dog"])
    done = run("represent", str(written(tmp_path, "embed")), str(data), "--out", str(tmp_path / "r.html"))
    assert done.code == 1
    assert "too small" in done.sentence
    assert not (tmp_path / "r.html").exists()
