from functools import cache

import pytest

from regard.data.links import Link
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.layout import lay_out
from regard.decoding.translation import Translation
from regard.markup.document import Keeping, translate_html, translate_texts
from regard.markup.placeholders import ALWAYS, Kept
from regard.markup.unreadable import Unreadable
from tests.data.examples import subwords
from tests.markup.fakes import answer, backwards


@cache
def learned(text: str, kind: str = "character") -> Subwords:
    return learn_subwords([text] * 5, SubwordSettings(kind=kind, size=200))  # type: ignore[arg-type]


def found(text: str, source: Subwords, target: Subwords | None = None) -> list[str]:
    return [text[start:end] for start, end in Unreadable(source, target or source).find(text)]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "character"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog runs.", []),
        ("A dog 🐶 runs 👍🏽!", ["🐶", "👍🏽"]),
        ("A dog🐶🐶 runs 👩‍👩‍👧.", ["🐶🐶", "👩‍👩‍👧"]),
        ("The 🇫🇷🇩🇪 men", ["🇫🇷🇩🇪"]),
        ("Łukasz, Zoë and the dog", ["Łukasz", "Zoë"]),
        ("in 2024.", ["2024"]),
        ("→ dogs ☺", ["→", "☺"]),
        ("C♯m runs", ["C♯m"]),
        ("the 我喜欢 dog", ["我喜欢"]),
        ("über u\u0308ber the grass", []),
        ("", []),
        (" \t ", []),
    ],
)
def test_signs_and_words_that_cannot_be_read_are_found(kind: str, text: str, expected: list[str]) -> None:
    assert found(text, subwords(kind)) == expected


def test_rare_letters_of_the_source_alone_are_left_to_the_model() -> None:
    chinese, english = learned("我喜欢狗。"), learned("I like dogs.")
    assert found("我喜欢猫🐱。", chinese, english) == ["🐱"]
    assert found("Я люблю ёлку.", learned("Я люблю собаку."), english) == []
    assert found("I like Zoë 猫.", english, chinese) == ["Zoë", "猫"]  # Latin names are read everywhere
    assert found("我喜欢猫。", chinese, learned("我喜歡狗。")) == ["猫"]


def test_nothing_is_kept_where_every_byte_can_be_written() -> None:
    assert found("A dog 🐶", subwords(byte_fallback=True)) == []


def test_what_has_a_readable_variant_is_left_to_the_model() -> None:
    """A model of lower-cased text may be given capitals, one of plain text typographic signs."""
    plain = learned('the "dog\'s" grass - a park.')
    assert found("THE “DOG’S” GRASS – A PARK…", plain) == []
    assert found("THE “DOG’S” GRASS ☺", plain) == ["☺"]


def test_of_words_the_letters_count() -> None:
    assert found("A god 🐶 Łukasz", subwords("word")) == ["🐶", "Łukasz"]  # "god" is unknown, its letters are not


def loses(texts: list[str]) -> list[Translation]:
    """A model that writes all words backwards, and no sign."""
    return backwards(["".join(letter for letter in text if letter not in "🐶❤") for text in texts])


def test_signs_are_put_beside_the_words_they_stood_beside() -> None:
    kept = Kept(ALWAYS, Unreadable(subwords(), subwords()))
    texts = ["dogs🐶 run here", "🐶 the dogs run", "the dogs run 🐶", "the 🐶dogs ❤ run"]
    outputs = [one.text for one in translate_texts(loses, texts, kept)]
    assert outputs == ["HERE RUN DOGS🐶", "🐶 RUN DOGS THE", "RUN DOGS THE 🐶", "RUN 🐶DOGS ❤ THE"]


def test_an_unreadable_mark_ends_a_sentence_instead_of_a_full_stop() -> None:
    def ends(texts: list[str]) -> list[Translation]:
        said = [text.replace("?", "").strip() + " ." for text in texts]
        return [answer(text, tuple(Link(at, at) for at in range(len(text.split()) - 1))) for text in said]

    kept = Kept(ALWAYS, Unreadable(subwords(), subwords()))
    assert [one.text for one in translate_texts(ends, ["are the dogs looking ?", "the dogs"], kept)] == [
        "are the dogs looking ?",
        "the dogs .",
    ]


def test_no_number_stands_for_signs_alone() -> None:
    """A model that copies numbers would put them where they count something."""

    def counts(texts: list[str]) -> list[Translation]:
        return [answer("viele" if text == "the dogs run" else text.replace("🐶", ""), None) for text in texts]

    kept = Kept(ALWAYS, Unreadable(subwords(), subwords()))
    [one] = translate_texts(counts, ["the dogs 🐶 run"], kept)
    assert one.text == "the dogs 🐶 run"
    [other] = translate_texts(counts, ["the dogs 🐶 run {name}"], kept)
    assert other.text == "the dogs 🐶 run {name}"


def test_tags_and_signs_go_together() -> None:
    keeper = Keeping.between(subwords(), subwords())

    def own(texts: list[str]) -> list[Translation]:
        return keeper(texts, loses, loses, lambda text, whole: lay_out(text, "line", whole=whole))

    assert translate_html(own, "the <b>dogs 🐶</b> run") == "RUN <b>DOGS 🐶</b> THE"
