"""A shortlist is learned from text, kept in the model file, and used on demand."""

from pathlib import Path

import pytest

from regard.runs.artifact import load_artifact
from tests.apps.running import Run

MODEL = Path("runs/en-de/model.safetensors")


def test_it_is_kept_in_the_file_with_everything_else(home: Path, run: Run) -> None:
    before, plain = load_artifact(MODEL), run("translate", MODEL, stdin=Path("test.en").read_text()).lines
    done = run("shortlist", "runs/en-de", "train.en", "train.de", "--top", "5", "--frequent", "20")
    assert done.lines[0].endswith(f"KiB kept in {MODEL}")
    after = load_artifact(MODEL)
    assert after.extras == {**before.extras, "shortlist": after.extras["shortlist"]}
    assert (after.config, after.tokenizers) == (before.config, before.tokenizers)
    assert all((after.weights[name] == tensor).all() for name, tensor in before.weights.items())
    assert run("translate", MODEL, stdin=Path("test.en").read_text()).lines == plain  # unless it is asked for
    listed = run("translate", MODEL, "--shortlist", stdin=Path("test.en").read_text()).lines
    assert len(listed) == len(plain)
    assert run("evaluate", MODEL, "test.en", "test.de", "--shortlist", "--samples", "0").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("shortlist", "runs/lm", "train.en", "train.de"), 2, "a language model, which has no source"),
        (("shortlist", "runs/en-de", "test.en", "train.de"), 1, "test.en has 12 lines but train.de has 200"),
        (("translate", "runs/en-de", "--shortlist"), 2, "has no shortlist; `regard shortlist` makes one"),
        (("translate", "runs/en-de", "--precision", "int9"), 2, "precision: unknown 'int9' (did you mean 'int8'?)"),
        (("translate", "runs/en-de", "--precision", "int8", "--engine", "ctranslate2"), 2, "precision of its export"),
    ],
)
def test_what_is_wrong_is_one_sentence(home: Path, run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    before = MODEL.read_bytes()
    done = run(*arguments)
    assert said in done.sentence
    assert (done.code, done.out) == (code, "")
    assert MODEL.read_bytes() == before
