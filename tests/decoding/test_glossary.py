from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.constraint import Constraint
from regard.decoding.glossary import Glossary, checked_glossary, phrase_of, word_ends
from tests.data.examples import subwords

TERMS = {"dog": "Hund", "hot dog": "Hotdog", "IT": "EDV", "(c)": "©", "naïve": "naiv", "犬": "dog", "हिन्द": "x"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A hot  dog and a Dog.", ["hot dog", "dog"]),
        ("a dog and a hot\tdog, a dog", ["dog", "hot dog"]),
        ("hot dogs", []),
        ("HOT dog's", ["hot dog"]),
        ("it is IT", ["IT"]),
        ("It is it", []),
        ("bulldog dog_ dog\u0301 2dog", []),
        ("(C) 1999", ["(c)"]),
        ("NAI\u0308VE", ["naïve"]),
        ("私は犬が好き", ["犬"]),
        ("हिन्दी", []),
        ("हिन्द है", ["हिन्द"]),
        ("", []),
    ],
)
def test_where_a_term_occurs(text: str, found: list[str]) -> None:
    assert Glossary.of(TERMS).found_in(text) == tuple((term, TERMS[term]) for term in found)


def test_a_large_glossary_finds_the_same() -> None:
    large = TERMS | {f"term {at}": str(at) for at in range(20_000)}
    assert Glossary.of(large).found_in("a dog and term 19999") == (("dog", "Hund"), ("term 19999", "19999"))


def test_a_file_of_terms(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text("\ufeff# animals\n\ndog\t Hund \r\nhot dog\tHotdog\ndog\tHund\n", encoding="utf-8")
    assert Glossary.read(path).terms == (("dog", "Hund"), ("hot dog", "Hotdog"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("dog\n", "terms.tsv, line 1: must be a term, a tab and its translation"),
        ("dog\tHund\n\ncat\t\n", "line 3: must be"),
        ("a\tb\tc\n", "line 1: must be"),
        ("dog\tHund\ndog\tKöter\n", "line 2: 'dog' is 'Köter' here, but 'Hund' before"),
        ("# nothing\n", "holds no term"),
    ],
)
def test_a_file_that_is_no_glossary(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        Glossary.read(path)


def test_what_is_no_glossary_in_python() -> None:
    for given in (["dog"], {"dog": 1}, {1: "dog"}):
        with pytest.raises(UsageError, match="give a mapping"):
            Glossary.of(given)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="empty on a side"):
        Glossary.of({"dog": " "})


def test_a_translation_that_cannot_be_written_is_told() -> None:
    known = subwords()
    with pytest.raises(UsageError, match="cannot write '漢'"):
        checked_glossary(Glossary.of({"dog": "漢"}), known)


def test_the_tokens_of_a_translation_stand_for_whole_words() -> None:
    known = subwords()
    phrase, ends = phrase_of("dog", known), word_ends(known)
    for text, occurs in (("A dog .", True), ("A dog", True), ("A dogged man", False), ("A hotdog", False)):
        constraint = Constraint((phrase,), ends)
        assert (not constraint.unmet(tuple(known.encode(text)))) == occurs, text


def test_a_script_without_spaces_has_it_anywhere() -> None:
    known = learn_subwords(["私は犬が好きです", "犬と猫", "猫は犬を見る"] * 20, SubwordSettings(kind="character"))
    constraint = Constraint((phrase_of("犬が", known),), word_ends(known))
    for text, occurs in (("私は犬が好き", True), ("犬が好き", True), ("犬と", False)):
        assert (not constraint.unmet(tuple(known.encode(text)))) == occurs, text
