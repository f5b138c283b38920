"""From files to a run.toml with reasons."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from regard.base.errors import UsageError
from regard.tasks.advice import advise_text
from regard.tasks.run import run_of
from regard.tasks.task import Wishes
from tests.apps import toy
from tests.tasks.scripts import LETTERS, lines, sentences


def advised(folder: Path, pairs: list[tuple[str, str]], dev: int = 5, **wishes: Any) -> dict[str, Any]:
    file = toy.write(folder / "train.tsv", lines(pairs))
    held_out = (toy.write(folder / "dev.tsv", lines(pairs[:dev])),) if dev else ()
    advice = advise_text([file], Wishes(dev=held_out, out=folder / "run.toml", **wishes), sides=2)
    assert advice is not None
    assert all(f"# {reason}" in advice.text for reason in advice.reasons[1:])
    table = tomllib.loads(advice.text)
    run_of(table, "run")  # every setting is one that there is
    return table


@pytest.mark.parametrize("target", list(LETTERS))
def test_short_sentences_get_subwords_and_a_transformer(tmp_path: Path, target: str) -> None:
    table = advised(tmp_path, sentences("latin", target, 300), model="transformer")
    assert (table["model"]["name"], table["model"]["preset"]) == ("transformer", "tiny")
    assert table["subwords"]["kind"] == "bpe"
    assert table["subwords"]["sharing"] == ("joint" if target == "latin" else "separate")
    assert table["training"]["metric"] == "chrf"


def test_enough_short_sentences_get_a_transformer_of_themselves(tmp_path: Path) -> None:
    few, many = (advised(tmp_path, sentences("latin", "arabic", count)) for count in (1_000, 15_000))
    assert [table["model"]["name"] for table in (few, many)] == ["seq2seq", "transformer"]
    assert [table["subwords"]["kind"] for table in (few, many)] == ["bpe", "bpe"]
    assert [table["training"]["metric"] for table in (few, many)] == ["chrf", "bleu"]


def test_commands_get_words_and_spelling_gets_characters(tmp_path: Path) -> None:
    table = advised(tmp_path, toy.pairs(100))
    assert (table["subwords"]["kind"], table["training"]["metric"]) == ("word", "exact")
    assert table["decoding"]["patience"] == 10.0
    table = advised(tmp_path, [(f"w{at * 7919 % 1000}", f"{at * 7919 % 1000}w") for at in range(200)])
    assert (table["subwords"]["kind"], table["training"]["metric"]) == ("character", "exact")


def test_long_outputs_of_short_inputs_are_allowed(tmp_path: Path) -> None:
    table = advised(tmp_path, [(str(at * 7919), f"{at * 7919:b}" * 2) for at in range(200)])
    assert table["decoding"]["max_ratio"] >= 40 / 7 - 2
    assert "max_ratio" not in advised(tmp_path, toy.pairs(100))["decoding"]


@pytest.mark.parametrize("model", ["transformer", "seq2seq"])
def test_a_wish_keeps_the_rest(tmp_path: Path, model: str) -> None:
    table = advised(tmp_path, sentences("latin", "latin", 300), model=model)
    assert table["model"]["name"] == model
    assert (table["subwords"]["kind"], table["training"]["metric"]) == ("bpe", "chrf")


def test_without_a_dev_set_the_loss_decides(tmp_path: Path) -> None:
    assert advised(tmp_path, sentences("latin", "latin", 50), dev=0, hold_out=0)["training"]["metric"] == "loss"


def test_a_dev_set_of_another_number_of_sides_is_refused(tmp_path: Path) -> None:
    file, other = toy.write(tmp_path / "a.tsv", ["a\tb"] * 3), toy.write(tmp_path / "dev.txt", ["a"])
    with pytest.raises(UsageError, match=r"--dev: must have as many sides as the training text \(2\), but has 1"):
        advise_text([file], Wishes(dev=(other,)), sides=2)


def test_files_of_another_task_are_left_to_it(tmp_path: Path) -> None:
    file = toy.write(tmp_path / "a.txt", ["a b c"] * 3)
    assert advise_text([file], Wishes(), sides=2) is None
    assert advise_text([file], Wishes(), sides=1) is not None
    assert advise_text([file] * 3, Wishes(), sides=2) is None
