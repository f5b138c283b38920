"""Heads are chosen on demand, kept in the model file, and drawn."""

from pathlib import Path

import pytest

from regard.runs.artifact import load_artifact
from tests.apps import toy
from tests.apps.commands.test_align import TEST, one_to_one, turned_model
from tests.apps.running import Run

MODEL = Path("runs/en-de/model.safetensors")


def test_right_links_choose_and_the_file_keeps_everything_else(home: Path, run: Run) -> None:
    before = load_artifact(MODEL)
    lines = run("heads", "runs/en-de", *TEST, "--gold", one_to_one(home), "--out", "heads.png").lines
    assert lines[0] == "gold links, on 12 pairs; 1 is best"
    assert lines[-2:] == [f"kept in {MODEL}", "wrote heads.png"]
    scores = [float(line.split()[0]) for line in lines[1:-2]]
    assert scores == sorted(scores, reverse=True)
    assert Path("heads.png").read_bytes().startswith(b"\x89PNG")
    after = load_artifact(MODEL)
    chosen = dict(after.extras["alignment"])
    assert chosen.pop("score") == pytest.approx(scores[0])
    assert chosen.pop("shift") in (0, 1)
    assert chosen == {"heads": [["decoder.cross", 0]], "measure": "gold links"}
    for name in ("config", "tokenizers", "vocabularies"):
        assert getattr(after, name) == getattr(before, name)
    assert after.extras == {**before.extras, "alignment": after.extras["alignment"]}
    assert all((after.weights[name] == tensor).all() for name, tensor in before.weights.items())


def test_the_text_alone_chooses_as_training_did(home: Path, run: Run) -> None:
    before = MODEL.read_bytes()
    assert run("heads", "runs/en-de", "train.en", "train.de").lines[0].startswith("agreement with words")
    assert MODEL.read_bytes() == before


def test_a_reverse_model_chooses(home: Path, run: Run) -> None:
    back = turned_model(run)
    lines = run("heads", MODEL, *TEST, "--reverse", back, "--shown", "1").lines
    assert lines[0].startswith("agreement of both directions")
    assert len(lines) == 3
    assert load_artifact(MODEL).extras["alignment"]["measure"] == "agreement of both directions"
    refused = run("heads", MODEL, *TEST, "--reverse", MODEL)
    assert (refused.code, refused.sentence.partition(" ")[2][:27]) == (2, "translates the other way: i")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("runs/lm", *TEST), 2, "runs/lm: a language model"),
        (("runs/en-de", *TEST, "--out", "heads.txt"), 2, "heads.txt: a picture's name ends in .png or .svg"),
        (("runs/en-de", *TEST, "--gold", "a", "--reverse", "b"), 2, "heads: give --gold or --reverse, not both"),
        (("runs/en-de", "test.en", "train.de"), 1, "test.en has 12 lines but train.de has 200"),
        (("runs/en-de", *TEST, "--gold", "few.links"), 1, "few.links: has 1 lines of links for 12 sentence pairs"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_changes_nothing(
    home: Path, run: Run, arguments: tuple[str, ...], code: int, said: str
) -> None:
    toy.write(Path("few.links"), ["0-0"])
    before = MODEL.read_bytes()
    done = run("heads", *arguments)
    assert said in done.sentence
    assert (done.code, done.out) == (code, "")
    assert MODEL.read_bytes() == before
