"""Which columns of a table are source and target, and whether it has a header."""

from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.data.column_choice import ColumnChoice, are_labels, choose_columns, joined_columns
from regard.data.format import Doubt, Hints

FILE = Path("a.tsv")
PAIRS = [[f"This is sentence number {at}.", f"Das ist Satz Nummer {at}."] for at in range(30)]


def test_two_columns_are_source_and_target() -> None:
    assert choose_columns(FILE, PAIRS, Hints()) == ColumnChoice((1, 2), header=False)
    assert choose_columns(Path("en-de.tsv"), PAIRS, Hints()) == ColumnChoice((1, 2), False, "en", "de")
    assert choose_columns(FILE, PAIRS, Hints(source="en", target="gsw")) == ColumnChoice((1, 2), False, "en", "gsw")


def test_an_attribution_or_a_number_is_no_sentence() -> None:
    tatoeba = [[*row, f"CC-BY 2.0 (France) Attribution: #{at}"] for at, row in enumerate(PAIRS)]
    assert choose_columns(FILE, tatoeba, Hints()) == ColumnChoice((1, 2), header=False)
    numbered = [[str(at), row[0], str(at + 7), row[1]] for at, row in enumerate(PAIRS)]
    assert choose_columns(FILE, numbered, Hints()) == ColumnChoice((2, 4), header=False)
    scored = [[row[0], "0.5", row[1], "web"] for row in PAIRS]
    assert choose_columns(FILE, [["a", "score", "b", "origin"], *scored], Hints()).columns == ("a", "b")


def test_codes_beside_texts_are_no_header() -> None:
    """The first row of Tatoeba's pairs names two languages, as all others do."""
    rows = [[str(at), "eng", row[0], str(at + 7), "deu", row[1]] for at, row in enumerate(PAIRS)]
    assert choose_columns(FILE, rows, Hints()) == ColumnChoice((3, 6), header=False)


def test_names_choose_columns_and_languages() -> None:
    rows = [["id", "de", "en", "document"], *[["1", row[1], row[0], "d"] for row in PAIRS]]
    assert choose_columns(FILE, rows, Hints()) == ColumnChoice(("de", "en"), True, "de", "en", "document")
    turned = choose_columns(FILE, rows, Hints(source="en", target="de"))
    assert turned == ColumnChoice(("en", "de"), True, "en", "de", "document")
    sides = [["Target", "Source"], *PAIRS]
    assert choose_columns(FILE, sides, Hints()) == ColumnChoice(("Source", "Target"), True)
    doubled = [["en", "de", "x", "x"], *[[*row, "", ""] for row in PAIRS]]
    assert choose_columns(FILE, doubled, Hints()) == ColumnChoice((1, 2), True, "en", "de")


def test_usual_headings_are_a_header() -> None:
    assert choose_columns(FILE, [["Question", "Answer"], *PAIRS], Hints()).header
    assert choose_columns(FILE, [["text", "category"], ["a", "b"]], Hints()).header


def test_names_of_source_and_target_are_a_header_beside_any_other() -> None:
    rows = [["Source Text", "Translated Text", "Reviewer"], *([*row, "Ann"] for row in PAIRS)]
    assert choose_columns(FILE, rows, Hints()).columns == ("Source Text", "Translated Text")


def test_columns_that_are_said_are_taken() -> None:
    rows = [["A", "B", "C"], *[[row[0], "x y z", row[1]] for row in PAIRS]]
    assert choose_columns(FILE, rows, Hints(columns=("A", "C"))) == ColumnChoice(("A", "C"), True)
    assert choose_columns(FILE, rows, Hints(columns=(1, 3), header=False)) == ColumnChoice((1, 3), False)
    with pytest.raises(UsageError, match=r"a\.tsv: unknown 'D'; columns are: A, B, C"):
        choose_columns(FILE, rows, Hints(columns=("A", "D")))
    with pytest.raises(UsageError, match=r"a\.tsv: has 3 columns, so there is no column 4"):
        choose_columns(FILE, rows, Hints(columns=(1, 4)))
    with pytest.raises(UsageError, match="'A' is a name, but --no-header says that there are none"):
        choose_columns(FILE, rows, Hints(columns=("A", "C"), header=False))


def test_what_is_in_doubt_is_asked() -> None:
    three = [[*row, row[0] + " again"] for row in PAIRS]
    with pytest.raises(Doubt, match=r"3 columns do not tell which are source and target .* --columns 1,2"):
        choose_columns(FILE, three, Hints())
    with pytest.raises(Doubt, match=r"has columns in 3 languages \(en, de, fr\); say it with --columns en,de"):
        choose_columns(FILE, [["en", "de", "fr"], *three], Hints())
    with pytest.raises(Doubt, match=r"the first row \(Anglais \| Allemand\) may be a header; say it with --header or"):
        choose_columns(FILE, [["Anglais", "Allemand"], *PAIRS], Hints())
    assert choose_columns(FILE, [["Anglais", "Allemand"], *PAIRS], Hints(header=True)).header
    numbered = [[str(at), "x", row[0], row[1], row[0][::-1]] for at, row in enumerate(PAIRS)]
    with pytest.raises(Doubt, match=r"5 columns do not tell which are source and target .* --columns 3,4"):
        choose_columns(FILE, numbered, Hints())
    with pytest.raises(Doubt, match=r"column 3 alone holds texts, .* --columns 3 for a language model"):
        choose_columns(FILE, [[str(at), "eng", row[0]] for at, row in enumerate(PAIRS)], Hints())
    with pytest.raises(Doubt, match="has one column, but a translation needs two"):
        choose_columns(FILE, [[row[0]] for row in PAIRS], Hints())


def test_labels_are_few_texts_that_come_often() -> None:
    assert are_labels(["good", "bad"] * 20)
    assert not are_labels(["good", "bad"] * 5)  # too few to tell
    assert not are_labels([row[0] for row in PAIRS])
    labeled = [[("good", "bad")[at % 2], *row] for at, row in enumerate(PAIRS * 2)]
    assert choose_columns(FILE, labeled, Hints()).columns == (2, 3)


@pytest.mark.parametrize("heading", ["Nr", "No", "id", "is", "to"])
def test_a_column_of_numbers_is_no_language(heading: str) -> None:
    rows = [[heading, "English", "Deutsch"], *([str(at), *row] for at, row in enumerate(PAIRS, start=1))]
    found = choose_columns(FILE, rows, Hints())
    assert (found.columns, found.source, found.target) == (("English", "Deutsch"), "en", "de")


@pytest.mark.parametrize("number", ["{}", "doc-{}", "9f{}c"])
def test_numbers_headed_id_are_no_indonesian(number: str) -> None:
    rows = [["id", "en", "text"], *([number.format(at), *row] for at, row in enumerate(PAIRS))]
    assert choose_columns(FILE, rows, Hints(header=True)).columns == ("en", "text")
    words = [["id", "en"], *(["rumah besar", row[0]] for row in PAIRS)]
    found = choose_columns(FILE, words, Hints())
    assert (found.columns, found.source) == (("id", "en"), "id")


def test_tags_beside_words_are_asked_about() -> None:
    """SIGMORPHON's lemma, form and tags: without the tags, nobody could tell which form is wanted."""
    tags = ("V;PST", "V;PRS", "N;PL")
    rows = [[f"lemma{at}", f"form{at}", tags[at % 3]] for at in range(90)]
    with pytest.raises(Doubt, match=r"column 3 what may be asked of them \(“V;PRS”\); say it with --columns 1\+3,2 if"):
        choose_columns(FILE, rows, Hints())
    assert choose_columns(FILE, rows, Hints(columns=("1+3", 2))).columns == ("1+3", 2)
    assert choose_columns(FILE, rows, Hints(columns=(1, 2))).columns == (1, 2)


def test_lemma_and_tags_are_the_source_of_a_form() -> None:
    rows = [[f"{word}{at}", f"{word}{at}ed", "V;PST"] for at in range(9) for word in ("walk", "talk")]
    assert choose_columns(FILE, rows, Hints()).columns == ("1+3", 2)
    assert choose_columns(FILE, [[lemma, tags, form] for lemma, form, tags in rows], Hints()).columns == ("1+2", 3)


def test_columns_that_are_read_together() -> None:
    rows = [["word", "tags", "form"], *([f"w{at}", "x", f"f{at}"] for at in range(9))]
    assert choose_columns(FILE, rows, Hints(columns=("word+tags", "form"))).columns == ("word+tags", "form")
    with pytest.raises(UsageError, match="unknown 'tag'"):
        choose_columns(FILE, rows, Hints(columns=("word+tag", "form")))
    assert joined_columns("a+b", ["a+b"]) == ("a+b",)
    assert joined_columns("a+b", ["a", "b"]) == ("a", "b")
    assert joined_columns("1+3") == (1, 3)
    assert joined_columns(2) == (2,)


def test_short_first_sentences_are_no_header() -> None:
    short = [["Go.", "Va !"], ["Run!", "Cours !"], ["Who?", "Qui ?"]]
    assert not choose_columns(FILE, [*short, *PAIRS], Hints()).header
    words = [["no", "nein"], ["is", "ist"], ["it", "es"]]
    assert not choose_columns(FILE, words, Hints()).header


def test_one_language_twice_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a\.tsv: columns 1 and 2 are both in the language en"):
        choose_columns(FILE, [["text_en", "en"], *PAIRS], Hints(columns=("text_en", "en")))
