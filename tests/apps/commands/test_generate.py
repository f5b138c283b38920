"""A language model goes on with a text."""

import json
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


def test_a_model_that_reads_a_source_writes_a_text_of_its_own(home: Path, run: Run) -> None:
    greedy = ("--strategy", "greedy(max_length=6)")
    (line,) = run("generate", "runs/en-de", "the dog", *greedy).lines
    assert line.split()
    assert {*line.split()} <= set(toy.WORDS.values())
    assert run("generate", "runs/en-de", "the dog", *greedy, "--stream").lines == [line]


def test_prompts_come_from_standard_input_in_batches(home: Path, run: Run) -> None:
    greedy = ("--strategy", "greedy(max_length=4)")
    prompts = ["das hund", "baum", "das"] * 30
    lines = run("generate", "runs/lm", *greedy, stdin="".join(f"{text}\n" for text in prompts)).lines
    assert lines == [run("generate", "runs/lm", text, *greedy).lines[0] for text in prompts[:3]] * 30


def test_a_stream_is_the_same_text(home: Path, run: Run) -> None:
    drawn = ("--temperature", "0.9", "--top-k", "5", "--seed", "3", "--max-length", "20")
    whole = run("generate", "runs/lm", "das hund", "baum", *drawn).lines
    assert run("generate", "runs/lm", "das hund", "baum", *drawn, "--stream").lines == whole


def test_objects_have_prompt_text_tokens_and_score(home: Path, run: Run) -> None:
    (line,) = run("generate", "runs/lm", "das hund", "--strategy", "greedy(max_length=4)", "--json").lines
    found = json.loads(line)
    assert found["prompt"] == "das hund"
    assert found["text"] == "das hund" + found["written"]
    assert len(found["tokens"]) <= 4
    assert found["score"] < 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--chat"], "runs/lm: has no chat template; leave out --chat, and the prompt is continued as it is"),
        (["--system", "be kind"], "generate: --system goes with --chat"),
        (["--stream", "--json"], "generate: --stream prints text as it comes, --json objects that are whole; give one"),
        (["--stream", "--strategy", "beam"], "search: beam search cannot be listened to or end at other tokens"),
        (["--stream", "--strategy", "sample(n_best=2)"], "generate: one text can be streamed at a time"),
        (["--strategy", "greedy", "--top-k", "3"], "--top-k: a greedy search has no such setting"),
        (["--temperature", "0"], "sample: temperature must be more than 0, but is 0.0; greedy is what 0 would mean"),
    ],
)
def test_what_does_not_go_together_is_refused(options: list[str], sentence: str, home: Path, run: Run) -> None:
    done = run("generate", "runs/lm", "das", *options)
    assert done.code == 2
    assert done.sentence.startswith(sentence)


def test_a_misspelt_strategy_is_refused(home: Path, run: Run) -> None:
    done = run("generate", "runs/lm", "das", "--strategy", "smple")
    assert done.code == 2
    assert "did you mean 'sample'?" in done.sentence
