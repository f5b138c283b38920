"""What to expect of a run, and what is wrong with its data."""

import re
from pathlib import Path

import pytest

from regard.base import processor
from tests.apps import toy
from tests.apps.running import SMALL, SMALL_LM, Run, changes

QUICK = ("--seconds", "1")


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1].replace(",", ""))


def test_a_sound_corpus_and_a_prediction(home: Path, run: Run) -> None:
    text = "\n".join(run("doctor", "run.toml", "--test", "test.en", "test.de", *QUICK, *changes(SMALL)).lines)
    assert "  200 of 200 lines\n" in text
    assert "  no duplicates, leaks, copies, odd lengths or lines in a wrong language\n" in text
    assert number(r"([\d,]+) subwords", text) > 24
    assert number(r"([\d,]+) weights", text) > 1000
    assert number(r"weights, (\S+) floating-point", text) > 1e6
    assert number(r"training cost: (\S+) floating-point", text) > 1e6
    done, counted = number(r"training cost: (\S+) fl", text), number(r"operations, (\S+) as papers count", text)
    assert counted == pytest.approx(done / 0.3, rel=0.1)
    assert number(r"([\d,]+) tokens/s", text) > 0
    assert 0 <= number(r"tokens/s, ([\d.]+) % padding", text) < 100
    assert number(r"an epoch is ([\d,]+) steps", text) == 3
    assert "90 steps take " in text
    assert number(r"memory: about ([\d.]+) GiB", text) > 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["en-de", "lm"]  # it leaves nothing behind


def test_what_the_processor_can_do_and_what_is_held_back(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run("doctor", "run.toml", *QUICK, *changes(SMALL)).lines
    assert f"  {processor.report()}" in lines
    assert any(re.search("int8|bfloat16", line) for line in lines)
    monkeypatch.setattr(processor, "held", lambda: "oneDNN is held to AVX2, since otherwise int8 faults")
    lines = run("doctor", "run.toml", *QUICK, *changes(SMALL)).lines
    assert "  ! oneDNN is held to AVX2, since otherwise int8 faults" in lines


def test_planted_faults_are_found_with_their_lines(texts: Path, run: Run) -> None:
    made, dev = toy.pairs(200), toy.pairs(12, skip=200)
    made[9] = made[4]
    made[19] = dev[2]
    made[29] = (made[29][0], made[29][0])
    made[39] = (made[39][0], "das " * 90)
    made[49] = ("", made[49][1])
    dev[6] = (dev[6][0], "hund ☃ ♞")
    toy.write_pairs(texts, "train", made)
    toy.write_pairs(texts, "dev", dev)
    assert run("init", "train.en", "train.de", "--dev", "dev.en", "dev.de").code == 0
    small = changes(SMALL | {"subwords.kind": "character", "subwords.sharing": "separate"})
    text = "\n".join(run("doctor", "run.toml", *QUICK, *small, "--test", "test.en", "test.de").lines)
    assert "  199 of 200 lines; skipped: 1 without a source\n" in text
    assert "! 1 pair occurs once more (line 10): " in text
    assert "! 1 pair of dev has both sides in the training text (line 3 of dev): " in text
    assert "! 1 pair has the same text on both sides (line 30): " in text
    assert "! 1 pair has very unequal lengths (line 40: " in text
    assert "! left out of training: 1 pair is longer than longest = 256 tokens\n" in text
    assert "line 30, target" in text
    assert "  read as: plain text, one sentence a line\n" in text
    lost = "(☃ in line 7, target; ♞ in line 7, target)"
    assert f"! 2 characters of dev cannot be written by the subwords {lost}: " in text
    assert "of test" not in text


def test_the_sooner_of_steps_and_epochs_is_predicted(home: Path, run: Run) -> None:
    lines = run("doctor", "run.toml", *QUICK, *changes(SMALL, epochs=2)).lines
    assert any(line.startswith("  6 steps take ") for line in lines)


def test_a_language_model_is_predicted_too(home: Path, run: Run) -> None:
    text = "\n".join(run("doctor", "lm.toml", *QUICK, *changes(SMALL_LM)).lines)
    assert number(r"([\d,]+) tokens/s", text) > 0
    assert "20 steps take " in text


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["run.toml", "--test", "test.en"], 2, "test: must have as many sides as the training text, 2, not 1"),
        (["lm.toml", "--test", "test.en", "test.de"], 2, "as many sides as the training text, 1, not 2"),
        (["run.toml", "--test", "test.en", "missing"], 1, "missing: cannot be read: there is no such file"),
        (["run.toml", "--set", "model.widht=3"], 2, "model: unknown 'widht' (did you mean 'width'?)"),
        (["run.toml", "--seconds", "0"], 2, "doctor: invalid value for '--seconds'"),
        (["missing.toml"], 1, "missing.toml: cannot be read: there is no such file"),
        (["run.toml", "--device", "cuda:77"], 2, "--device cuda:77: cannot be used: "),
    ],
)
def test_what_is_wrong_is_one_sentence(home: Path, run: Run, arguments: list[str], code: int, sentence: str) -> None:
    done = run("doctor", *arguments)
    assert done.code == code
    assert sentence in done.sentence
