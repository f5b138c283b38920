"""What is counted of a corpus."""

from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.corpus import open_corpus
from regard.data.statistics import drawn, statistics_of, words_in
from tests.apps import toy


def test_both_sides_are_counted(tmp_path: Path) -> None:
    toy.write(tmp_path / "a.tsv", ["a b\tc d e f", "\t", "a\tb g"])
    found = statistics_of(open_corpus(tmp_path / "a.tsv"))
    assert found.lines == 2
    assert (found.source.words, found.target.words) == (3 / 2, 6 / 2)
    assert (found.source.characters, found.target.characters) == ((3 + 1) / 2, (7 + 3) / 2)
    assert (found.source.tokens, found.source.types, found.target.types) == (3, 2, 6)
    assert (found.source.alphabet, found.target.alphabet) == (2, 6)  # a b, and no letter twice
    assert found.shared == (1 + 1) / 9  # b, on either side
    assert found.target.novelty == 1.0  # nothing of the first line is in the second
    assert found.source.novelty == 0.5


def test_the_alphabet_is_of_letters_that_come_often(tmp_path: Path) -> None:
    rare = "".join(chr(0x4E00 + at) for at in range(10))
    toy.write(tmp_path / "a.tsv", [f"{'日' * 50}{'本' * 40}{rare}\t{'x' * 89} {rare}z"])
    found = statistics_of(open_corpus(tmp_path / "a.tsv"))
    assert (found.source.alphabet, found.target.alphabet) == (2, 2)


def test_the_longest_targets_are_measured_by_their_sources(tmp_path: Path) -> None:
    found = statistics_of(open_corpus(toy.write(tmp_path / "a.tsv", ["ab c\t" + "x " * 19 + "y", "a\tb"])))
    assert found.stretch_words == (20 - 10) / 2
    assert found.stretch_characters == (39 - 10) / 4


def test_most_is_the_length_of_all_but_the_longest(tmp_path: Path) -> None:
    toy.write(tmp_path / "a.tsv", [f"{'a ' * count}\tb" for count in range(1, 101)])
    found = statistics_of(open_corpus(tmp_path / "a.tsv")).source
    assert found.most_words == 95


def test_the_sample_is_of_the_whole_corpus_and_always_the_same(tmp_path: Path) -> None:
    toy.write(tmp_path / "a.tsv", [f"{'a ' * (at // 10 + 1)}\tb" for at in range(1_000)])  # sorted by length
    found = statistics_of(open_corpus(tmp_path / "a.tsv"), most=200)
    assert found.lines == 1_000
    assert found.source.words == pytest.approx(50.5, abs=5)
    assert found == statistics_of(open_corpus(tmp_path / "a.tsv"), most=200)
    rows = [(str(at),) for at in range(10)]
    assert drawn(iter(rows), 10) == rows
    assert len(set(drawn(iter(rows), 4))) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I went there .", 4),
        ("他昨天在图书馆看了一本书", 6),
        ("เมื่อวานฉันไปตลาดกับแม่", 4),
        ("2024年3月12日 text", 2),
        ("", 0),
    ],
)
def test_scripts_without_spaces_have_words(text: str, words: int) -> None:
    assert words_in(text) == words


def test_a_vocabulary_is_closed_if_its_words_are_few_and_come_often(tmp_path: Path) -> None:
    closed = [f"walk left twice\tone {'two three'.split()[at % 2]} four" for at in range(100)]
    found = statistics_of(open_corpus(toy.write(tmp_path / "a.tsv", closed)))
    assert found.source.closed
    assert found.target.closed
    open_ = [f"walk left twice\tthing{at}" for at in range(100)]
    found = statistics_of(open_corpus(toy.write(tmp_path / "b.tsv", open_)))
    assert found.source.closed
    assert not found.target.closed
    assert not statistics_of(open_corpus(toy.write(tmp_path / "c.tsv", closed[:10]))).source.closed  # too few to tell


def test_scripts_without_spaces_are_told(tmp_path: Path) -> None:
    found = statistics_of(open_corpus(toy.write(tmp_path / "a.tsv", ["看一本书\tI read"] * 3)))
    assert (found.source.unspaced, found.target.unspaced) == (1.0, 0.0)
    assert found.source.types == 4
    assert found.shared == 0.0


def test_a_corpus_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no line has text on every side"):
        statistics_of(open_corpus(toy.write(tmp_path / "a.tsv", ["\t", "a\t"])))
