import json
from pathlib import Path

from tests.apps.commands.test_predict import written
from tests.apps.running import Run
from tests.representation.test_probing import LINES, write


def test_a_table_a_picture_and_numbers(tmp_path: Path, run: Run) -> None:
    model, data = str(written(tmp_path, "embed")), str(write(tmp_path / "data.tsv", LINES))
    done = run("probe", model, data, "--shots", "1", "--shots", "2", "--draws", "2",
               "--json", str(tmp_path / "p.json"), "--picture", str(tmp_path / "p.png"))  # fmt: skip
    assert done.lines[0] == "20 examples of 2 classes, 4 to test on; accuracy in %"
    assert done.lines[1].split() == ["examples", "of", "each", "class", "1", "2", "all"]
    assert [line.split("  ")[0] for line in done.lines[2:]] == ["embed.safetensors", "random weights", "raw input"]
    assert len(json.loads((tmp_path / "p.json").read_text())["encoders"]) == 3
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_labels_and_lines_of_unequal_number(tmp_path: Path, run: Run) -> None:
    lines, labels = write(tmp_path / "lines.txt", ["the cat", "the dog"]), write(tmp_path / "labels.txt", ["a"])
    done = run("probe", str(written(tmp_path, "embed")), str(lines), "--labels", str(labels))
    assert done.code == 1
    assert "has 1 labels, but" in done.sentence


def test_a_model_that_gives_no_features(home: Path, run: Run) -> None:
    write(home / "labeled.tsv", LINES)
    done = run("probe", "runs/lm", "labeled.tsv")
    assert done.code == 2
    assert "a Generator, which gives no features" in done.err
