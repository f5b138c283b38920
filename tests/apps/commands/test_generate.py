"""A language model goes on with a text."""

from pathlib import Path

import pytest

from tests.apps import toy
from tests.apps.running import SMALL_LM, Run, changes


def test_every_prompt_is_continued_in_order(home: Path, run: Run) -> None:
    lines = run("generate", "runs/lm", "das hund", "baum", "", "--strategy", "greedy(max_length=5, min_length=2)").lines
    assert len(lines) == 3
    assert lines[0].startswith("das hund ")
    assert lines[1].startswith("baum ")
    assert all(2 <= len(line.split()) <= 7 for line in lines)
    assert {word for line in lines for word in line.split()} <= set(toy.WORDS.values())


def test_a_seed_repeats_what_was_drawn(home: Path, run: Run) -> None:
    def drawn(seed: int) -> list[str]:
        return run("generate", "runs/lm", "das", "--strategy", f"sample(seed={seed}, max_length=30)").lines

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_without_a_strategy_at_most_a_hundred_tokens_are_drawn(home: Path, run: Run) -> None:
    (line,) = run("generate", "runs/lm", "das").lines
    assert line.startswith("das")
    assert len(line.split()) <= 101


def test_a_run_may_say_how_to_generate(home: Path, run: Run) -> None:
    settings = SMALL_LM | {"decoding": "greedy(max_length=3, min_length=3)"}
    assert run("train", "lm.toml", *changes(settings)).code == 0
    first, again = (run("generate", "runs/lm", "das").lines for _ in range(2))
    assert first == again
    assert len(first[0].split()) == 4


@pytest.mark.parametrize("strategy", ["sample(n_best=3, max_length=6)", "beam(size=3, n_best=3, max_length=6)"])
def test_all_of_the_n_best_are_printed_with_their_scores(strategy: str, home: Path, run: Run) -> None:
    rows = [line.split(" ||| ") for line in run("generate", "runs/lm", "das", "baum", "--strategy", strategy).lines]
    assert [number for number, _, _ in rows] == ["1"] * 3 + ["2"] * 3
    assert all(text.startswith("das" if number == "1" else "baum") for number, text, _ in rows)
    assert len({text for _, text, _ in rows}) > 2
    assert all(float(score) < 0 for _, _, score in rows)


def test_a_translation_model_is_refused(home: Path, run: Run) -> None:
    done = run("generate", "runs/en-de", "the dog")
    assert done.code == 2
    assert done.sentence == "runs/en-de: a translation model; use regard translate"


def test_a_misspelt_strategy_is_refused(home: Path, run: Run) -> None:
    done = run("generate", "runs/lm", "das", "--strategy", "smple")
    assert done.code == 2
    assert "did you mean 'sample'?" in done.sentence
