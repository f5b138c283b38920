"""Characters and words that the subwords cannot write are told with their lines."""

from pathlib import Path

from regard.data.characters import check_characters
from regard.data.corpus import open_corpus
from regard.data.subwords.learn import SubwordSettings, train_pair
from tests.apps import toy


def test_what_cannot_be_written_is_found_once(tmp_path: Path) -> None:
    train = open_corpus(toy.write(tmp_path / "train.tsv", [f"{one}\t{other}" for one, other in toy.pairs(50)]))
    dev = open_corpus(toy.write(tmp_path / "dev.tsv", ["the dog\tdas hund", "a 😀 dog\tdas 😀", "the 😀\tder Hund"]))
    pair = train_pair(train, SubwordSettings(kind="character", size=60))
    vocabularies = (pair.source, pair.target)
    assert check_characters("train", train, vocabularies).count == 0
    found = check_characters("dev", dev, vocabularies)
    assert found.places == ["😀 in line 2, source", "😀 in line 2, target", "H in line 3, target"]
    assert "subwords.byte_fallback = true writes any" in str(found)
    bytewise = train_pair(train, SubwordSettings(kind="bpe", size=600, byte_fallback=True))
    assert check_characters("dev", dev, (bytewise.source, bytewise.target)).count == 0


def test_a_letter_that_the_limit_cuts_is_found_in_training(tmp_path: Path) -> None:
    lines = [f"{one} x\t{other}" for one, other in toy.pairs(50)]
    train = open_corpus(toy.write(tmp_path / "train.tsv", [*lines, "ž\tž"]))
    pair = train_pair(train, SubwordSettings(kind="bpe", size=60, characters=20, sharing="joint"))
    found = check_characters("the training text", train, (pair.source, pair.target))
    assert "ž in line 51, source" in found.places


def test_words_are_told_as_words(tmp_path: Path) -> None:
    train = open_corpus(toy.write(tmp_path / "train.tsv", [f"{one}\t{other}" for one, other in toy.pairs(50)]))
    dev = open_corpus(toy.write(tmp_path / "dev.tsv", ["the zebra\tdas zebra"]))
    pair = train_pair(train, SubwordSettings(kind="word", size=100))
    found = check_characters("dev", dev, (pair.source, pair.target))
    assert str(found).startswith("2 words of dev cannot be written by the subwords (zebra in line 1, source; zebra in")
