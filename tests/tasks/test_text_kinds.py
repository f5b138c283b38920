"""Which kind of text a corpus is."""

import random
from pathlib import Path

import pytest

from regard.data.corpus import open_corpus
from regard.data.dates import DateSettings, written_dates
from regard.data.formats.tsv import Tsv
from regard.data.statistics import statistics_of
from regard.tasks.text_kinds import kind_of
from tests.apps import toy
from tests.tasks.scripts import LETTERS, Language, lines, sentences


def kind(folder: Path, pairs: list[tuple[str, str]]) -> tuple[str, str]:
    return kind_of(statistics_of(open_corpus(toy.write(folder / "a.tsv", lines(pairs)), format=Tsv())))


@pytest.mark.parametrize("count", [50, 500, 5_000])
@pytest.mark.parametrize("target", list(LETTERS))
def test_short_sentences_are_sentences_in_every_script(tmp_path: Path, target: str, count: int) -> None:
    found, reason = kind(tmp_path, sentences("latin", target, count, words=6))
    assert found == "sentences"
    assert ("without spaces" in reason) == (target in ("han", "kana", "thai", "khmer"))


@pytest.mark.parametrize("words", [3, 5, 25])
def test_agglutinative_sentences_are_sentences(tmp_path: Path, words: int) -> None:
    assert kind(tmp_path, sentences("latin", "latin", 500, words, endings=40))[0] == "sentences"


def test_sentences_as_people_write_them(tmp_path: Path) -> None:
    pairs = [("Tom is here.", "Tom est là."), ("I'm cold.", "J'ai froid."), ("Who knows?", "Qui sait ?")] * 30
    varied = [(f"{one} {at}", f"{other} {at}") for at, (one, other) in enumerate(pairs)]
    assert kind(tmp_path, varied)[0] == "sentences"


def test_dates_are_spelled(tmp_path: Path) -> None:
    made = written_dates(DateSettings(train=2_000, dev=1, test=1))["train"]
    found, reason = kind(tmp_path, [(date.text, date.iso) for date in made])
    assert found == "spelling"
    assert reason.startswith("one word in a line of the target")
    assert kind(tmp_path, [(date.iso, date.text) for date in made])[0] == "spelling"


@pytest.mark.parametrize("script", sorted(set(LETTERS) - {"kana"}))  # its letters are words for all we know
def test_words_and_their_forms_are_spelled(tmp_path: Path, script: str) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices(LETTERS[script], k=3)) for _ in range(300)]
    pairs = [
        (f"{word} N;{chance.choice(['SG', 'PL'])};{chance.choice(['NOM', 'ACC'])}", f"{word}{word[0]}")
        for word in words
    ]
    assert kind(tmp_path, pairs)[0] == "spelling"


def test_numbers_in_words_are_spelled(tmp_path: Path) -> None:
    digits = "zero one two three four five six seven eight nine".split()
    pairs = [(str(number), " ".join(digits[int(one)] for one in str(number))) for number in range(10_000, 99_999, 97)]
    assert kind(tmp_path, pairs)[0] == "spelling"


def test_few_words_that_come_again_and_again_are_commands(tmp_path: Path) -> None:
    found, reason = kind(tmp_path, toy.pairs(200))
    assert found == "commands"
    assert reason == "only 12 and 12 different words, and no new ones to be expected: a closed vocabulary"


def test_long_lines_of_one_word_are_no_spelling(tmp_path: Path) -> None:
    language = Language("latin")
    tibetan = [(language.sentence(20).replace(" ", "་"), language.sentence(12)) for _ in range(50)]
    assert kind(tmp_path, tibetan)[0] == "sentences"


def test_forms_of_several_words_are_spelled_if_they_copy(tmp_path: Path) -> None:
    words, particles = Language("latin", size=100).words, ("do", "le", "po")
    forms = [(words[at % 100], at % 3, at % 7) for at in range(500)]
    pairs = [(f"{word}en V {one} {two}", f"{particles[one]} të {word}ensh{two}") for word, one, two in forms]
    found, reason = kind(tmp_path, pairs)
    assert found == "spelling"
    assert "copied from its source" in reason


def test_labels_of_sentences_are_no_spelling(tmp_path: Path) -> None:
    language, chance = Language("latin"), random.Random(1)
    pairs = [(language.sentence(9), chance.choice(["good", "bad"])) for _ in range(300)]
    assert kind(tmp_path, pairs)[0] == "sentences"
