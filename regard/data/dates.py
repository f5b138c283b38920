"""Written dates in many languages, and the same dates in ISO 8601: a small translation task that needs no download.

    «Dienstag, 12. März 2024»  «12 de marzo de 2024»  «2024年3月12日»   →   2024-03-12

The words and orders are the languages' own, from CLDR by way of the `babel` package. Forms that a reader could not
tell apart, months as bare numbers between day and year, are left out.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from regard.base.errors import ConfigError, RegardError, check_at_least
from regard.base.extras import install_hint
from regard.base.files import write_text
from regard.data.links import Gold

DATE_LANGUAGES = tuple(
    "af bg bn ca cs cy da de el en en_GB es et eu fi fr ga gl he hi hr hu hy id is it ja ka kk ko lt lv mk ms nb nl "
    "pl pt ro ru sk sl sq sr sv sw ta th tr uk ur uz vi zh".split()
)
FORMS = ("full", "long", "medium")
_FIELD = re.compile(r"%\((\w+)\)s")
_PLACES = {"y": range(4), "M": range(5, 7), "d": range(8, 10)}
"""where the ISO form has the year, the month and the day"""


class WrittenDate(NamedTuple):
    """A date as people write it, and as machines do."""

    text: str
    iso: str
    language: str
    links: Gold = Gold(frozenset(), frozenset())
    """the character of the text that each character of the iso form was made of"""


@dataclass(frozen=True, kw_only=True)
class DateSettings:
    """Which dates are written, and how many."""

    languages: tuple[str, ...] = DATE_LANGUAGES
    first: date = date(1950, 1, 1)
    last: date = date(2049, 12, 31)
    train: int = 40_000
    dev: int = 1_000
    test: int = 2_000
    seed: int = 1

    def __post_init__(self) -> None:
        check_at_least("dates", 1, train=self.train, dev=self.dev, test=self.test, languages=len(self.languages))
        if (self.last - self.first).days < 100:
            raise ConfigError(f"dates: from {self.first} to {self.last} is too short a time to split")


def written_dates(settings: DateSettings) -> dict[str, list[WrittenDate]]:
    """Pairs for `train`, `dev` and `test`: no day of one is a day of another."""
    chance = random.Random(settings.seed)
    days = list(range((settings.last - settings.first).days + 1))
    chance.shuffle(days)
    tenth = len(days) // 10
    splits = {"dev": days[:tenth], "test": days[tenth : 2 * tenth], "train": days[2 * tenth :]}
    forms = [(language, form) for language in settings.languages for form in clear_forms(language)]
    counts = {"train": settings.train, "dev": settings.dev, "test": settings.test}
    return {name: list(_draw(counts[name], splits[name], forms, settings, chance)) for name in counts}


def write_dates(folder: Path, settings: DateSettings) -> None:
    """The pairs as parallel files: train.written, train.iso, train.links (between characters), dev.written, …"""
    for name, pairs in written_dates(settings).items():
        write_text(folder / f"{name}.written", "".join(f"{pair.text}\n" for pair in pairs))
        write_text(folder / f"{name}.iso", "".join(f"{pair.iso}\n" for pair in pairs))
        write_text(folder / f"{name}.links", "".join(f"{_pharaoh(pair.links)}\n" for pair in pairs))


def clear_forms(language: str) -> Sequence[str]:
    """The forms of a language that name the month, or mark it, so that day and month cannot be mixed up."""
    patterns = {form: str(_locale(language).date_formats[form].pattern) for form in FORMS}
    return [form for form, pattern in patterns.items() if any(mark in pattern for mark in ("MMM", "LLL", "月"))]


def date_parts(day: date, form: str, language: str) -> list[tuple[str, str]]:
    """A written day in pieces, each with the letter of what it tells, `y`, `M`, `d` …, or none."""
    from babel.dates import DateTimeFormat  # an import of a tenth of a second that only the demo needs

    fields = DateTimeFormat(day, _locale(language))
    pieces = _FIELD.split(_locale(language).date_formats[form].format)
    told = [(name[0].replace("L", "M"), str(fields[name])) for name in pieces[1::2]]
    between = [("", text.replace("%%", "%")) for text in pieces[::2]]
    return [piece for pair in zip_longest(between, told) for piece in pair if piece]


def date_links(parts: Sequence[tuple[str, str]]) -> Gold:
    """Which characters of a written day make those of its ISO form.

    A digit surely comes from the same digit of the text. What has none, a month that is named or a zero in front, may
    come from any character of the name or number; the hyphens come from none.
    """
    sure, possible, start = set(), set(), 0
    for letter, text in parts:
        places = _PLACES.get(letter, range(0))
        at = [start + own for own, character in enumerate(text) if not character.isspace()]
        if text.isdecimal():
            sure |= set(zip(reversed(at), reversed(places), strict=False))
            places = places[: max(0, len(places) - len(at))]
        possible |= {(own, place) for own in at for place in places}
        start += len(text)
    return Gold(frozenset(sure), frozenset(sure | possible))


def _draw(
    count: int, days: list[int], forms: list[tuple[str, str]], settings: DateSettings, chance: random.Random
) -> Iterator[WrittenDate]:
    for _ in range(count):
        day = settings.first + timedelta(days=chance.choice(days))
        language, form = chance.choice(forms)
        parts = date_parts(day, form, language)
        yield WrittenDate("".join(text for _, text in parts), day.isoformat(), language, date_links(parts))


def _pharaoh(links: Gold) -> str:
    marks = ((source, "-" if (source, target) in links.sure else "?", target) for source, target in links.possible)
    return " ".join(f"{source}{mark}{target}" for source, mark, target in sorted(marks, key=lambda link: link[::-2]))


@cache
def _locale(language: str) -> Any:
    try:
        from babel import Locale, UnknownLocaleError
    except ImportError as error:
        raise RegardError(f"dates: the demo writes its dates with babel: {install_hint('demo')}") from error
    try:
        return Locale.parse(language)
    except (UnknownLocaleError, ValueError) as error:
        raise ConfigError(f"dates: CLDR has no language '{language}'") from error
