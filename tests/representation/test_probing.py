"""Probes of a small encoder, beside raw input, random weights and fine-tuning."""

from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError, UsageError
from regard.representation.probing import opened_randomly, probe
from tests.apps.commands.test_predict import written

ANIMALS, FRUITS = ("cat", "dog"), ("mat", "hill")
LINES = [f"{label}\tthe {word} {how}" for label, words in (("animal", ANIMALS), ("place", FRUITS))
         for word in words for how in ("sat", "ran", "and", "on", "over", "a")]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write(tmp_path / "data.tsv", LINES)
    written(tmp_path, "embed")
    return tmp_path


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_encoders_side_by_side(home: Path) -> None:
    said: list[str] = []
    model = home / "embed.safetensors"
    report = probe(
        model, home / "data.tsv", test=home / "data.tsv", shots=(1, 4), draws=3, pooling="mean", seed=5, say=said.append
    )
    assert [one.name for one in report.encoders] == ["embed.safetensors", "random weights", "raw input"]
    assert report.classes == ("animal", "place") and (report.examples, report.tests) == (24, 24)
    own, random, raw = report.encoders
    assert own.width == random.width == 8
    assert raw.probe.accuracy == 1.0
    assert own.probe != random.probe or own.shots != random.shots
    for one in report.encoders:
        assert [shot.shots for shot in one.shots] == [1, 4]
        assert all(len(shot.accuracies) == 3 for shot in one.shots)
    table = report.to_dict()
    assert table["encoders"][2]["accuracy"] == 100.0
    assert table["encoders"][0]["shots"][1]["accuracy"] == pytest.approx(100 * own.shots[1].mean)
    assert any("random weights" in text for text in said)


def test_a_fifth_is_held_out_and_vectors_may_come_from_elsewhere(home: Path) -> None:
    report = probe(home / "embed.safetensors", home / "data.tsv", draws=1, baselines=False)
    assert (report.examples, report.tests) == (20, 4)
    assert [shot.shots for shot in report.encoders[0].shots] == [1, 2, 4, 8]
    vectors = np.random.default_rng(1).standard_normal((48, 3)).astype(np.float32)
    np.save(home / "v.npy", vectors)
    other = probe(home / "v.npy", home / "data.tsv", test=home / "data.tsv", draws=1, baselines=False)
    assert other.encoders[0].width == 3


def test_fine_tuning_stands_beside_it(home: Path) -> None:
    report = probe(
        home / "embed.safetensors",
        home / "data.tsv",
        test=home / "data.tsv",
        shots=(1,),
        draws=1,
        tune=True,
        baselines=False,
    )
    assert report.encoders[-1].name == "fine-tuning"
    assert 0.0 <= report.encoders[-1].probe.accuracy <= 1.0


def test_random_weights_are_the_same_again(home: Path) -> None:
    first, again, other = (opened_randomly(home / "embed.safetensors", seed).embed(["the cat"]) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_bad_input(home: Path) -> None:
    model = home / "embed.safetensors"
    with pytest.raises(RegardError, match="there is one class alone, 'animal'"):
        probe(model, write(home / "one.tsv", LINES[:6]))
    with pytest.raises(RegardError, match="shots: 50 examples of each class are asked for, but 'animal' has"):
        probe(model, home / "data.tsv", shots=(50,))
    np.save(home / "v.npy", np.ones((5, 2)))
    with pytest.raises(RegardError, match=r"v\.npy: has 5 vectors, but there are 24 labels"):
        probe(home / "v.npy", home / "data.tsv", baselines=False)
    np.save(home / "v.npy", np.ones((24, 2)))
    with pytest.raises(RegardError, match="are constant"):
        probe(home / "v.npy", home / "data.tsv", baselines=False)
    np.save(home / "v.npy", np.full((24, 2), np.nan))
    with pytest.raises(RegardError, match="24 of 24 vectors hold NaN"):
        probe(home / "v.npy", home / "data.tsv", baselines=False)
    with pytest.raises(RegardError, match="the label 'thing' does not occur"):
        probe(model, home / "data.tsv", test=write(home / "t.tsv", ["thing\tthe cat"]))
    with pytest.raises(UsageError, match="there are no labels"):
        probe(model, write(home / "lines.txt", ["a"]))
