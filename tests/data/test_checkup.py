"""Planted faults are found, with their lines, and sound text has none."""

import random
from pathlib import Path

import pytest

from regard.data.checkup import Checkup, Finding, check_corpus, check_lines
from regard.data.corpus import Corpus, open_corpus

ENGLISH = "the dog sees cat and house with water under tree while bird flies over green field".split()
GERMAN = "der hund sieht eine katze und das haus mit wasser unter baum waehrend vogel fliegt ueber feld".split()

Pairs = list[tuple[str, str]]


def sentences(count: int, seed: int = 1) -> Pairs:
    """Different pairs of equally many words."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        words = [chance.randrange(15) for _ in range(chance.randint(5, 9))]
        found[" ".join(ENGLISH[word] for word in words)] = " ".join(GERMAN[word] for word in words)
    return list(found.items())


def corpus(folder: Path, name: str, pairs: Pairs) -> Corpus:
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return open_corpus(path)


def check(folder: Path, pairs: Pairs, dev: Pairs | None = None) -> Checkup:
    held_out = {} if dev is None else {"dev": corpus(folder, "dev", dev)}
    return check_corpus(corpus(folder, "train", pairs), held_out)


def only(checkup: Checkup) -> Finding:
    """The one thing that was found."""
    (finding,) = checkup.findings
    return finding


def test_sound_text_has_no_findings(tmp_path: Path) -> None:
    checkup = check(tmp_path, sentences(300), sentences(20, seed=2))
    assert [str(finding) for finding in checkup.findings] == []
    assert checkup.facts[0].startswith("300 ")
    assert "no duplicates" in checkup.facts[1]


def test_duplicates_are_counted_whatever_their_case_and_spaces(tmp_path: Path) -> None:
    pairs = sentences(300)
    pairs[10] = pairs[3]
    pairs[20] = (pairs[3][0].upper(), f"  {pairs[3][1]}")
    finding = only(check(tmp_path, pairs))
    assert (finding.what, finding.count, finding.places) == ("pairs occur once more", 2, ["line 11", "line 21"])


def test_the_same_source_with_another_target_is_no_duplicate(tmp_path: Path) -> None:
    pairs = sentences(300)
    pairs[10] = (pairs[3][0], pairs[10][1])
    pairs[20] = (pairs[21][1], pairs[21][0])  # turned around: the other side's language, but nothing twice
    findings = check(tmp_path, pairs).findings
    assert [finding.what for finding in findings] == ["lines look like the other side's language"]
    assert findings[0].places == ["line 21, source", "line 21, target"]


def test_leaks_into_the_training_text_are_found(tmp_path: Path) -> None:
    dev = sentences(20, seed=2)
    pairs = sentences(300)
    pairs[7] = dev[4]
    finding = only(check(tmp_path, pairs, dev))
    assert finding.what == "pairs of dev have both sides in the training text"
    assert finding.places == ["line 5 of dev"]


def test_a_held_out_source_with_another_translation_in_training_is_found(tmp_path: Path) -> None:
    dev = sentences(20, seed=2)
    pairs = sentences(300)
    pairs[7] = (dev[4][0].upper(), pairs[7][1])
    finding = only(check(tmp_path, pairs, dev))
    assert finding.what == "sources of dev stand in the training text with another translation"
    assert finding.places == ["line 5 of dev"]


def text(folder: Path, name: str, lines: list[str]) -> Corpus:
    path = folder / f"{name}.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return open_corpus(path)


def test_lines_of_one_side_are_found_twice_and_where_they_are_held_out(tmp_path: Path) -> None:
    lines, dev = ([source for source, _ in sentences(40, seed=seed)] for seed in (1, 2))
    sound = check_lines(text(tmp_path, "train", lines), {"dev": text(tmp_path, "dev", dev)})
    assert sound.findings == []
    assert "no duplicates or leaks" in sound.facts
    lines[10], lines[20], dev[4] = lines[3], f" {lines[3].upper()}", lines[30]
    found = check_lines(text(tmp_path, "train", lines), {"dev": text(tmp_path, "dev", dev)})
    assert [(finding.what, finding.places) for finding in found.findings] == [
        ("lines occur once more", ["line 11", "line 21"]),
        ("lines of dev stand in the training text", ["line 5 of dev"]),
    ]


def test_copied_lines_are_found_but_numbers_may_be_copied(tmp_path: Path) -> None:
    pairs = sentences(300)
    pairs[50] = (pairs[50][0], pairs[50][0])
    pairs[60] = ("12 345", "12 345")
    whats = {finding.what: finding.places for finding in check(tmp_path, pairs).findings}
    assert whats["pairs have the same text on both sides"] == ["line 51"]
    assert whats["lines look like the other side's language"] == ["line 51, target"]


def test_odd_lengths_are_found(tmp_path: Path) -> None:
    pairs = sentences(300)
    pairs[5] = (pairs[5][0], "der hund")
    pairs[6] = ("the dog", pairs[6][1])
    finding = only(check(tmp_path, pairs))
    assert finding.what == "pairs have very unequal lengths"
    assert [place.split(":")[0] for place in finding.places] == ["line 6", "line 7"]


def test_lines_of_neither_language_are_found(tmp_path: Path) -> None:
    pairs = sentences(300)
    noise = "xq zzj qqk vvy wxw jjq kzx qyq"
    pairs[5] = (noise, "das haus mit wasser und baum")
    finding = only(check(tmp_path, pairs))
    assert (finding.what, finding.places) == ("lines look like neither language", ["line 6, source"])


def test_blank_sides_are_counted(tmp_path: Path) -> None:
    pairs = sentences(300)
    pairs[1], pairs[2], pairs[3] = ("", pairs[1][1]), (pairs[2][0], " "), ("", "")
    checkup = check(tmp_path, pairs)
    assert (only(checkup).what, only(checkup).count) == ("lines have a blank side", 3)
    assert checkup.facts[0].startswith("297 ")


def test_few_lines_are_too_few_to_know_a_language(tmp_path: Path) -> None:
    assert check(tmp_path, [*sentences(8), (sentences(8)[0][1], "the dog and the cat")]).findings == []


@pytest.mark.parametrize(("count", "shown"), [(2, "(a; b)"), (7, "(a; b; c; d; e …)")])
def test_a_finding_shows_the_first_places(count: int, shown: str) -> None:
    finding = Finding("things", "look")
    for place in "abcdefg"[:count]:
        finding.add(place)
    assert str(finding) == f"{count} things {shown}: look"


def test_a_finding_may_be_of_one_line(tmp_path: Path) -> None:
    assert str(Finding("lines stand", "look", 1, ["a"], one="line stands")) == "1 line stands (a): look"
    assert str(Finding("lines stand", "look", 2, one="line stands")) == "2 lines stand: look"
    pairs = sentences(100)
    found = check(tmp_path, [*pairs, pairs[0], (pairs[1][0], "")]).findings
    assert [str(one).split(":")[0] for one in found] == [
        "1 line has a blank side",
        "1 pair occurs once more (line 101)",
    ]
