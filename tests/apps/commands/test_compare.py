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
    )
    head, first, second, share = (line.split("\t") for line in done.lines)
    assert head[:2] == ["model", "all"]
    assert [first[0], second[0]] == ["en-de", "model"]
    assert first[1:] == second[1:]
    assert len(first) == len(head) > 2
    assert share[0] == "% of en-de"
    assert all(one in ("100", "nan") for one in share[1:])
    assert Path("l.png").read_bytes().startswith(b"\x89PNG")


def test_overall_is_what_evaluate_says(home: Path, run: Run) -> None:
    whole = run("compare", "runs/en-de", "--test", "dev.en", "dev.de").lines[1].split("\t")[1]
    said = run("evaluate", "runs/en-de", "dev.en", "dev.de", "--samples", "0").lines[0]
    assert said.startswith(f"BLEU {whole}\t")


def test_a_language_model_is_refused(home: Path, run: Run) -> None:
    done = run("compare", "runs/lm", "--test", "dev.en", "dev.de")
    assert done.code == 2
    assert "this corpus has two sides" in done.sentence
