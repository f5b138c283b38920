"""The words of a text tell its languages, and the direction that is asked for."""

from dataclasses import replace
from pathlib import Path

import pytest

from regard.base.errors import RegardError, UsageError
from regard.data.corpus import open_corpus
from regard.data.format import Doubt, Hints
from regard.data.formats.jsonl import Jsonl
from regard.data.formats.tmx import Tmx
from regard.data.formats.tsv import Tsv
from regard.tasks.task import Wishes
from regard.tasks.text_files import TextFiles, find_texts
from regard.tasks.text_languages import in_direction
from regard.tasks.translate import Translate
from tests.apps import toy

ENGLISH = "The men are walking along the street. The children were playing with their new toys."
GERMAN = "Die Männer gehen die Straße entlang. Die Kinder spielten mit ihren neuen Sachen."
GERMAN_TO_ENGLISH = [Hints(source="de", target="en"), Hints(source="de"), Hints(target="en")]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    toy.write(tmp_path / "deu.txt", [f"{ENGLISH} {at}\t{GERMAN} {at}" for at in range(40)])
    return tmp_path


def found(*files: str, sides: int = 2, **wishes: object) -> TextFiles:
    made = find_texts([Path(file) for file in files], Wishes(**wishes), sides)  # type: ignore[arg-type]
    assert made is not None
    return made


@pytest.mark.parametrize("said", GERMAN_TO_ENGLISH)
def test_the_direction_that_is_asked_for_exchanges_columns(said: Hints) -> None:
    """Tatoeba's deu.txt begins with English: asked for German to English, a model learned English under that name."""
    made = found("deu.txt", hints=said)
    assert made.reading.format == Tsv(columns=(2, 1))
    assert (made.reading.source, made.reading.target, made.name) == ("de", "en", "de-en")
    assert "the text is en → de: its sides are exchanged" in made.notes[1]
    assert next(iter(made.corpus.rows()))[0].startswith("Die Männer")


def test_columns_and_languages_that_are_said_are_taken() -> None:
    for said in GERMAN_TO_ENGLISH:
        assert found("deu.txt", hints=replace(said, columns=(1, 2))).reading.format == Tsv(columns=(1, 2))
    made = found("deu.txt", hints=Hints(source="en"))
    assert (made.reading.format, made.reading.target) == (Tsv(columns=(1, 2)), "de")
    assert found("deu.txt", hints=Hints(source="fr", target="de")).reading.source == "fr"


def test_keys_are_exchanged_too(here: Path) -> None:
    toy.write(here / "a.jsonl", [f'{{"question": "{ENGLISH} {at}", "answer": "{GERMAN} {at}"}}' for at in range(40)])
    made = found("a.jsonl", hints=GERMAN_TO_ENGLISH[0])
    assert made.reading.format == Jsonl(keys=("answer", "question"))


def test_files_in_the_wrong_order_are_told(here: Path) -> None:
    for name, text in (("one.txt", ENGLISH), ("other.txt", GERMAN)):
        toy.write(here / name, [f"{text} {at}" for at in range(40)])
    with pytest.raises(UsageError, match=r"by their words they are en and de; give the file in de first"):
        found("one.txt", "other.txt", hints=GERMAN_TO_ENGLISH[0])
    assert found("one.txt", "other.txt", hints=Hints()).name == "en-de"


def test_names_that_have_the_languages_the_wrong_way_round_are_asked_about(here: Path) -> None:
    for name, text in (("train.de", ENGLISH), ("train.en-GB", GERMAN)):
        toy.write(here / name, [f"{text} {at}" for at in range(40)])
    with pytest.raises(
        Doubt, match=r"names say de → en-GB, but by its words it is en → de; .* --source en --target de"
    ):
        found("train.de", "train.en-GB")
    assert found("train.de", "train.en-GB", hints=Hints(source="en", target="de")).name == "en-de"
    toy.write(here / "a.tsv", ["de\ten", *(f"{ENGLISH} {at}\t{GERMAN} {at}" for at in range(40))])
    with pytest.raises(Doubt, match="names say de → en"):
        found("a.tsv")
    assert found("a.tsv", hints=Hints(source="en", target="de")).reading.format == Tsv(("de", "en"), header=True)
    assert found("a.tsv", hints=Hints(columns=("de", "en"))).name == "de-en"


def test_a_side_without_a_word_is_told(here: Path) -> None:
    """Where no pair was left to look at, init called it a fault of its own."""
    toy.write(here / "blank.tsv", [f"{ENGLISH} {at}\t" for at in range(40)])
    with pytest.raises(RegardError, match=r"blank\.tsv: no line has text on every side"):
        Translate.advise([here / "blank.tsv"], Wishes(out=here / "run.toml"))


def test_a_test_set_follows_the_direction_of_the_model(here: Path) -> None:
    """A model of German was evaluated on English sources where the file begins with English."""
    corpus = open_corpus("deu.txt", blanks="error")
    told: list[str] = []
    assert in_direction(corpus, "de-AT", Hints(), told.append).format == Tsv(columns=(2, 1))
    assert len(told) == 1 and "its sides are exchanged" in told.pop()
    for language in ("en", None, "fr"):
        assert in_direction(corpus, language, Hints(), told.append) == corpus
    assert in_direction(corpus, "de", Hints(columns=(1, 2)), told.append) == corpus and not told
    unit = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
    units = "".join(unit.format(f"{ENGLISH} {at}", f"{GERMAN} {at}") for at in range(40))
    toy.write(here / "a.tmx", [f"<tmx><body>{units}</body></tmx>"])
    assert in_direction(open_corpus("a.tmx"), "de", Hints(), print).format == Tmx(("de", "en"))
    for name, text in (("test.en", ENGLISH), ("test.de", GERMAN)):
        toy.write(here / name, [f"{text} {at}" for at in range(40)])
    with pytest.raises(UsageError, match="they are en and de; give the file in de first"):
        in_direction(open_corpus("test.en", "test.de"), "de", Hints(), print)


def test_languages_in_turn_are_no_language_model(here: Path) -> None:
    toy.write(here / "turns.txt", [ENGLISH, GERMAN] * 40)
    with pytest.raises(Doubt, match=r"turns\.txt: its lines are en and de in turn; .* --format text if a language"):
        found("turns.txt", sides=1)
    assert found("turns.txt", sides=1, format="text").notes[0] == "read as: plain text, one sentence a line"
    toy.write(here / "halves.txt", [*[ENGLISH] * 40, *[GERMAN] * 40])
    assert found("halves.txt", sides=1).corpus.sides == 1
