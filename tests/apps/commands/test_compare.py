import json
from pathlib import Path

from tests.apps.running import Run


def test_models_stand_side_by_side_overall_and_by_length(home: Path, run: Run) -> None:
    done = run(
        "compare",
        "runs/en-de",
        "runs/en-de/model.safetensors",
        "--test",
        "dev.en",
        "dev.de",
        "--groups",
        "3",
        "--out",
        "l.png",
        "--samples",
        "20",
    )
    costs, table, tested, verdict = done.out.split("\n\n")
    columns, *rows = (line.split("\t") for line in costs.splitlines())
    assert columns == ["model", "BLEU", "sentences/s", "MiB", "parameters", "steps", "tokens/s in training"]
    assert rows[0][1] == rows[1][1]
    assert all(float(cell.replace(",", "")) > 0 for row in rows for cell in row[2:])
    assert "is best: BLEU" in verdict
    assert "as good to the last digit" in verdict
    head, first, second, share = (line.split("\t") for line in table.splitlines())
    title, columns, own, other = tested.splitlines()
    assert title == "compared with en-de by a paired bootstrap test (20 resamplings, 95 % intervals):"
    assert columns.split("\t") == ["model", "BLEU", "chrF", "TER", "exact match"]
    assert own.split("\t")[1].startswith(f"{first[1]} ± ")
    assert all(cell.endswith("(+0.00, p = 1.0000)") for cell in other.split("\t")[1:])
    assert head[:2] == ["model", "all"]
    assert [first[0], second[0]] == ["en-de", "model"]
    assert first[1:] == second[1:]
    assert len(first) == len(head) > 2
    assert share[0] == "% of en-de"
    assert all(one in ("100", "nan") for one in share[1:])
    assert Path("l.png").read_bytes().startswith(b"\x89PNG")


def test_overall_is_what_evaluate_says(home: Path, run: Run) -> None:
    whole = run("compare", "runs/en-de", "--test", "dev.en", "dev.de").lines[4].split("\t")[1]
    said = run("evaluate", "runs/en-de", "dev.en", "dev.de", "--samples", "0").lines[0]
    assert said.startswith(f"BLEU {whole}\t")


def test_a_language_model_is_refused(home: Path, run: Run) -> None:
    done = run("compare", "runs/lm", "--test", "dev.en", "dev.de")
    assert done.code == 2
    assert "this corpus has two sides" in done.sentence


def test_everything_is_json_for_programs(home: Path, run: Run) -> None:
    command = ["compare", "runs/en-de", "runs/en-de/model.safetensors", "--test", "dev.en", "dev.de", "--json"]
    found = json.loads(run(*command, "--samples", "20").out)
    assert list(found["scores"]) == ["en-de", "model"]
    assert found["compared"][0]["groups"]
    assert found["compared"][0]["curves"]
    assert found["verdict"].endswith(".")
    assert [one["p_value"] for one in found["paired"]] == [None, 1.0] * 4
    assert json.loads(run(*command, "--samples", "0").out)["paired"] == []


def test_one_model_is_not_tested(home: Path, run: Run) -> None:
    assert "bootstrap" not in run("compare", "runs/en-de", "--test", "dev.en", "dev.de").out
