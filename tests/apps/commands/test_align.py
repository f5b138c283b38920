"""Links on the command line: Pharaoh, JSON, rates; and what is refused."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from regard.alignment import eflomal
from regard.apps.commands.align import _splitting
from regard.data.links import Link, Links, parse_links
from regard.runs.artifact import load_artifact
from tests.apps import toy
from tests.apps.running import SMALL, Run, changes

TEST = ("test.en", "test.de")


def one_to_one(home: Path) -> Path:
    """The right links of the toy language, which is translated word by word."""
    lines = Path("test.en").read_text(encoding="utf-8").splitlines()
    return toy.write(Path("test.links"), [" ".join(f"{at}-{at}" for at in range(len(line.split()))) for line in lines])


def turned_model(run: Run) -> str:
    """A model that translates the other way, as good as untrained."""
    assert run("init", "train.de", "train.en", "--out", "back.toml", "--name", "back").code == 0
    assert run("train", "back.toml", *changes(SMALL)).code == 0
    return "runs/back"


def test_a_line_of_links_for_each_pair(home: Path, run: Run) -> None:
    lines = run("align", "runs/en-de", *TEST).lines
    sources, targets = (Path(file).read_text(encoding="utf-8").splitlines() for file in TEST)
    assert len(lines) == len(sources)
    for line, source, target in zip(lines, sources, targets, strict=True):
        links = parse_links(line)
        assert [link.target for link in links] == list(range(len(target.split())))
        assert all(link.source < len(source.split()) for link in links)


def test_json_has_words_links_and_confidence(home: Path, run: Run) -> None:
    plain = run("align", "runs/en-de", *TEST).lines
    for number, (line, links) in enumerate(zip(run("align", "runs/en-de", *TEST, "--json").lines, plain, strict=True)):
        found = json.loads(line)
        assert found["line"] == number + 1
        assert len(found["target"]) == len(found["source"])
        assert " ".join(f"{one['source']}-{one['target']}" for one in found["links"]) == links
        assert all(0 < one["confidence"] <= 1 for one in found["links"])


def test_right_links_give_rates_and_a_file_takes_the_links(home: Path, run: Run) -> None:
    gold = one_to_one(home)
    done = run("align", "runs/en-de", *TEST, "--gold", gold, "--out", "found.links")
    assert done.lines[0].startswith("precision ")
    assert len(done.lines) == 1
    assert Path("found.links").read_text(encoding="utf-8").splitlines() == run("align", "runs/en-de", *TEST).lines
    both = run("align", "runs/en-de", *TEST, "--gold", gold)
    assert both.err == done.out
    assert run("align", "runs/en-de", *TEST, "--gold", "found.links", "--out", "again").lines == [
        "precision 100.0%, recall 100.0%, AER 0.0%"
    ]


def test_thresholds(home: Path, run: Run) -> None:
    count = {
        options: sum(len(line.split()) for line in run("align", "runs/en-de", *TEST, *options).lines)
        for options in ((), ("--threshold", "0.01"), ("--null", "0.999"), ("--threshold", "1"))
    }
    assert count["--threshold", "0.01"] > count[()] == count["--threshold", "1"] > count["--null", "0.999"]


def test_both_directions(home: Path, run: Run) -> None:
    back = turned_model(run)
    found = {
        way: [set(line.split()) for line in run("align", "runs/en-de", *TEST, "--reverse", back, *option).lines]
        for way, option in {
            "grown": (),
            "intersection": ("--symmetrize", "intersection"),
            "union": ("--symmetrize", "union"),
        }.items()
    }
    for few, some, many in zip(found["intersection"], found["grown"], found["union"], strict=True):
        assert few <= some <= many
    refused = run("align", "runs/en-de", *TEST, "--reverse", "runs/en-de")
    assert refused.code == 2
    assert refused.sentence.startswith("runs/en-de: translates the other way: ")
    swapped = run("align", "runs/en-de", *TEST[::-1])
    assert swapped.code == 2
    assert "exchange the files, or the models" in swapped.sentence


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("runs/en-de", "test.en", "train.de"), 1, "test.en has 12 lines but train.de has 200"),
        (("runs/en-de", "test.en"), 2, "pairs need a source and a target"),
        (("runs/en-de", "a", "b", "c"), 2, "align: give source and target, not 3 files"),
        (("runs/lm", *TEST), 2, "runs/lm: a language model, which has no source to align with"),
        (("runs/no", *TEST), 2, "runs/no: there is no such file or folder"),
        (("runs/en-de", *TEST, "--gold", "bad.links"), 1, "bad.links, line 2: '3' is no link; write 3-4, or 3?4"),
        (("runs/en-de", *TEST, "--gold", "train.en"), 1, "train.en, line 1: "),
        (("runs/en-de", *TEST, "--gold", "few.links"), 1, "few.links: has 1 lines of links for 12 sentence pairs"),
        (("runs/en-de", *TEST, "--gold", "far.links"), 1, "far.links, line 1: the link 90-0 names source word 90"),
        (("runs/en-de", *TEST, "--symmetrize", "gdfa"), 2, "aligner.symmetrize: unknown 'gdfa'"),
        (("runs/en-de", *TEST, "--threshold", "2"), 2, "--threshold"),
        (("runs/en-de", "blank.en", "test.de"), 1, "blank.en, line 1: the line is blank"),
    ],
)
def test_what_is_wrong_is_one_sentence(home: Path, run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    toy.write(Path("bad.links"), ["0-0", "3"])
    toy.write(Path("few.links"), ["0-0"])
    toy.write(Path("far.links"), ["90-0"])
    toy.write(Path("blank.en"), [""] * 12)
    done = run("align", *arguments)
    assert said in done.sentence
    assert (done.code, done.out) == (code, "")


def test_training_chose_the_heads(home: Path) -> None:
    chosen = load_artifact("runs/en-de/model.safetensors").extras["alignment"]
    assert chosen["heads"] == [["decoder.cross", 0]]
    assert chosen["shift"] in (0, 1)
    assert 0 < chosen["score"] <= 1


def test_eflomal_links_without_a_model(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def align(pairs: Iterable[tuple[str, str]], letters: int | None) -> tuple[list[Links], list[Links]]:
        asked.append(letters)
        sizes = [len(source.split()) for source, _ in pairs]
        forward = [tuple(Link(at, at) for at in range(size)) for size in sizes]
        return forward, [links[1:] for links in forward]

    monkeypatch.setattr(eflomal, "align_pairs", align)
    gold = one_to_one(home)
    done = run("align", "eflomal", *TEST, "--gold", gold, "--symmetrize", "intersection", "--out", "found.links")
    assert done.lines[0].startswith("precision 100.0%, recall ")
    assert all(line.startswith("1-1 2-2") for line in Path("found.links").read_text(encoding="utf-8").splitlines())
    assert run("align", "eflomal", *TEST, "--letters", "5").code == 0
    assert asked == [None, 5]
    assert run("align", "eflomal", *TEST, "--symmetrize", "best").code == 2


def test_what_is_linked_can_be_chosen(home: Path, run: Run) -> None:
    toy.write(Path("a.en"), ["the dog, the cat."])
    toy.write(Path("a.de"), ["das hund, das katze."])
    for chosen, size in (((), 4), (("--words", "spaces"), 4), (("--words", "segments"), 6)):
        [line] = run("align", "runs/en-de", "a.en", "a.de", "--json", *chosen).lines
        found = json.loads(line)
        assert (len(found["source"]), len(found["target"])) == (size, size)
        assert {link["target"] for link in found["links"]} <= set(range(size))
    assert run("align", "runs/en-de", "a.en", "a.de", "--words", "letters").code == 2


def test_texts_without_spaces_are_segmented(capsys: pytest.CaptureFixture[str]) -> None:
    text = "今天天气很好！"
    assert _splitting(None, ["the dog."], [text])(text) == ["今天", "天气", "很好", "！"]
    assert "so links count the segments that --json shows" in capsys.readouterr().err
    assert _splitting("spaces", ["the dog."], [text])(text) == [text]
    assert _splitting(None, ["the dog."], ["今天 天气"])("今天 天气.") == ["今天", "天气."]
    assert capsys.readouterr().err == ""
