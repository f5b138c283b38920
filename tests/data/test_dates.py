"""Written dates: clear to a reader, disjoint by day, the same for the same seed."""

import random
import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from babel.dates import format_date

from regard.base.errors import ConfigError
from regard.data.dates import (
    DATE_LANGUAGES,
    DateSettings,
    clear_forms,
    date_links,
    date_parts,
    write_dates,
    written_dates,
)
from regard.data.links import read_gold

FEW = DateSettings(train=3000, dev=300, test=300)


def write_date(day: date, form: str, language: str) -> str:
    return "".join(text for _, text in date_parts(day, form, language))


def test_there_are_dozens_of_languages_each_with_a_clear_form() -> None:
    assert len(set(DATE_LANGUAGES)) == len(DATE_LANGUAGES) >= 40
    for language in DATE_LANGUAGES:
        assert clear_forms(language)


def test_no_text_means_two_dates() -> None:
    chance = random.Random(1)
    days = [date(1950, 1, 1) + timedelta(days=chance.randrange(36525)) for _ in range(20)]
    days += [date(2024, month, day) for month in range(1, 13) for day in (1, month, 12)]
    meant: dict[str, date] = {}
    for language in DATE_LANGUAGES:
        for form in clear_forms(language):
            for day in days:
                assert meant.setdefault(write_date(day, form, language), day) == day
    assert len(meant) > 5000


def test_a_form_with_bare_numbers_for_months_is_left_out() -> None:
    assert "medium" not in clear_forms("de")  # 05.03.2024
    assert "medium" in clear_forms("en")
    assert "medium" in clear_forms("zh")  # marked by 月
    for language in DATE_LANGUAGES:
        for form in clear_forms(language):
            assert not re.fullmatch(r"[\d./\- ]+", write_date(date(2024, 3, 5), form, language))


def test_words_are_the_languages_own() -> None:
    day = date(2024, 3, 12)
    assert write_date(day, "full", "de") == "Dienstag, 12. März 2024"
    assert write_date(day, "long", "es") == "12 de marzo de 2024"
    assert write_date(day, "long", "ja") == "2024年3月12日"


def test_texts_are_those_of_babel() -> None:
    chance = random.Random(2)
    for language in DATE_LANGUAGES:
        for form in clear_forms(language):
            day = date(1950, 1, 1) + timedelta(days=chance.randrange(36525))
            assert write_date(day, form, language) == format_date(day, form, locale=language)


def test_links_say_what_each_digit_was_made_of() -> None:
    links = date_links(date_parts(date(2024, 3, 5), "long", "en"))  # March 5, 2024 → 2024-03-05
    assert links.sure == {(9, 0), (10, 1), (11, 2), (12, 3), (6, 9)}
    assert links.possible == links.sure | {(name, month) for name in range(5) for month in (5, 6)} | {(6, 8)}
    bare = date_links(date_parts(date(1999, 12, 31), "long", "ja"))  # 1999年12月31日
    assert bare.sure == bare.possible == {(0, 0), (1, 1), (2, 2), (3, 3), (5, 5), (6, 6), (8, 8), (9, 9)}


def test_linked_digits_are_equal_and_hyphens_are_made_of_nothing() -> None:
    for pair in written_dates(FEW)["dev"]:
        assert all(pair.text[source] == pair.iso[target] for source, target in pair.links.sure)
        assert pair.links.sure <= pair.links.possible
        assert {target for _, target in pair.links.possible} == {0, 1, 2, 3, 5, 6, 8, 9}
        assert not any(pair.text[source].isspace() for source, _ in pair.links.possible)


def test_no_day_is_in_two_splits_and_every_date_is_right() -> None:
    made = written_dates(FEW)
    assert {name: len(pairs) for name, pairs in made.items()} == {"train": 3000, "dev": 300, "test": 300}
    days = {name: {pair.iso for pair in pairs} for name, pairs in made.items()}
    assert not days["train"] & days["dev"]
    assert not days["train"] & days["test"]
    assert not days["dev"] & days["test"]
    for pair in made["dev"]:
        day = date.fromisoformat(pair.iso)
        assert FEW.first <= day <= FEW.last
        assert pair.text in [write_date(day, form, pair.language) for form in clear_forms(pair.language)]
    assert {pair.language for pair in made["train"]} == set(DATE_LANGUAGES)


def test_the_seed_decides() -> None:
    few = DateSettings(train=50, dev=5, test=5, languages=("en", "fr"))
    assert written_dates(few) == written_dates(few)
    assert written_dates(few) != written_dates(DateSettings(train=50, dev=5, test=5, languages=("en", "fr"), seed=2))


def test_files_are_parallel(tmp_path: Path) -> None:
    few = DateSettings(train=20, dev=5, test=5, languages=("vi", "th"))
    write_dates(tmp_path, few)
    made = written_dates(few)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dev.iso", "dev.links", "dev.written", "test.iso", "test.links", "test.written", "train.iso", "train.links",
        "train.written",
    ]  # fmt: skip
    for name, pairs in made.items():
        assert (tmp_path / f"{name}.written").read_text(encoding="utf-8").splitlines() == [pair.text for pair in pairs]
        assert (tmp_path / f"{name}.iso").read_text(encoding="utf-8").splitlines() == [pair.iso for pair in pairs]
        assert read_gold(tmp_path / f"{name}.links") == [pair.links for pair in pairs]


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(ConfigError, match="CLDR has no language 'xx'"):
        written_dates(DateSettings(languages=("xx",)))
    with pytest.raises(ConfigError, match="train must be at least 1, but is 0"):
        DateSettings(train=0)
    with pytest.raises(ConfigError, match="too short a time to split"):
        DateSettings(first=date(2024, 1, 1), last=date(2024, 2, 1))
