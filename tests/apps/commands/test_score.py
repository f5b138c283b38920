"""How likely given translations are."""

from pathlib import Path

import pytest

from tests.apps import toy
from tests.apps.running import Run


def test_a_line_for_each_pair_and_tokens_that_sum_to_it(home: Path, run: Run) -> None:
    plain = run("score", "runs/en-de", "test.en", "test.de").lines
    rows = [line.split("\t") for line in run("score", "runs/en-de", "test.en", "test.de", "--per-token").lines]
    assert [total for total, _ in rows] == plain
    for (total, tokens), (_, target) in zip(rows, toy.pairs(12, skip=212), strict=True):
        values = [float(value) for value in tokens.split()]
        assert len(values) == len(target.split()) + 1
        assert all(value <= 0 for value in values)
        assert sum(values) == pytest.approx(float(total), abs=1e-3)


def test_the_right_translation_is_likelier_than_another(home: Path, run: Run) -> None:
    made = toy.pairs(12, skip=212)
    turned = zip(made, [*made[1:], made[0]], strict=True)
    toy.write(Path("turned.tsv"), [f"{source}\t{target}" for (source, _), (_, target) in turned])
    right = [float(line) for line in run("score", "runs/en-de", "test.en", "test.de").lines]
    wrong = [float(line) for line in run("score", "runs/en-de", "turned.tsv").lines]
    assert all(one > other for one, other in zip(right, wrong, strict=True))


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["runs/lm", "test.en", "test.de"], 2, "runs/lm: a language model; regard evaluate gives its perplexity"),
        (["runs/en-de", "a", "b", "c"], 2, "score: give source and target, not 3 files"),
        (["runs/en-de", "test.en", "train.de"], 1, "test.en has 12 lines but train.de has 200"),
        (["runs/en-de", "test.en"], 2, "pairs need a source and a target"),
        (["runs/en-de", "test.en", "test.de", "--device", "nowhere"], 2, "--device nowhere: cannot be used: "),
    ],
)
def test_what_cannot_be_scored_is_refused(home: Path, run: Run, arguments: list[str], code: int, sentence: str) -> None:
    done = run("score", *arguments)
    assert done.code == code
    assert sentence in done.sentence
