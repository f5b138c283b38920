"""Small corpora of many kinds, for `advice.py`: real ones, and Multi30k's captions written in other scripts.

A caption in another script is made word by word from the German one, so that the text keeps what natural text has: how
often words come back, how long sentences are, what stands for what. No corpus shares a pair between its parts.
"""

import gzip
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from environments import ROOT

from regard.data.dates import DateSettings, written_dates

SHARED = ROOT.parent / "shared" / "data"
Pairs = list[tuple[str, str]]
HELD_OUT = 200
VALIDATED = 100
SPELLING = ("characters", "1,000 subwords")
COMMANDS = ("1,000 subwords", "words")
SENTENCES = ("1,000 subwords", "8,000 subwords")
"""tokenizers that make sense for a kind of text; in texts of 500 lines, 8,000 subwords are nearly the words"""


@dataclass(frozen=True)
class Parts:
    """A corpus: what is learned from, what validates, what is scored, and the metric that suits it."""

    train: Pairs
    dev: Pairs
    test: Pairs
    metric: str
    tokenizers: tuple[str, ...] = SENTENCES
    """those of the grid that somebody who knows the text would try"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dev", self.dev[:VALIDATED])

    def write(self, folder: Path) -> Path:
        """The parts as parallel files, train.source, train.target and so on."""
        folder.mkdir(parents=True, exist_ok=True)
        for part in ("train", "dev", "test"):
            for at, side in enumerate(("source", "target")):
                text = "".join(f"{pair[at]}\n" for pair in getattr(self, part))
                (folder / f"{part}.{side}").write_text(text, encoding="utf-8")
        return folder


def multi30k(count: int, target: str = "de", write: Callable[[str], str] = str) -> Parts:
    """The first captions of Multi30k, with the target written in another way."""
    train, dev, test = (_captions(part, target) for part in ("train", "val", "test_2016_flickr"))
    made = [[(source, write(text)) for source, text in part] for part in (train[:count], dev, test)]
    tokenizers = SENTENCES if any(" " in text for _, text in made[0]) else SPELLING
    return Parts(made[0], made[1][:HELD_OUT], made[2][:HELD_OUT], "bleu" if count >= 5_000 else "chrf", tokenizers)


def short_captions(count: int) -> Parts:
    """The shortest captions, German to English: as short as the sentences of phrase books."""
    pairs = [(german, english) for english, german in _captions("train", "de")]
    return _split(sorted(pairs, key=lambda pair: len(pair[0]) + len(pair[1]))[: count + 2 * HELD_OUT], "bleu")


def dates(count: int) -> Parts:
    """Written dates in many languages, and in ISO 8601."""
    made = written_dates(DateSettings(train=count, dev=HELD_OUT, test=HELD_OUT))
    parts = ([(date.text, date.iso) for date in made[part]] for part in ("train", "dev", "test"))
    return Parts(*parts, "exact", SPELLING)


def scan(count: int) -> Parts:
    """Commands and their actions (Lake and Baroni, 2018)."""
    made = [
        [tuple(line.removeprefix("IN: ").split(" OUT: ")) for line in _lines(f"scan/tasks_{part}_simple.txt.gz")]
        for part in ("train", "test")
    ]
    train, test = (_shuffled(pairs) for pairs in made)
    return Parts(train[:count], test[:HELD_OUT], test[HELD_OUT : 2 * HELD_OUT], "exact", COMMANDS)


def inflection(language: str, size: str) -> Parts:
    """A word and what form of it is wanted (SIGMORPHON 2017)."""
    train, dev, test = (
        [
            (f"{lemma} {tags}", form)
            for lemma, form, tags in (line.split("\t") for line in _lines(f"sigmorphon2017/{language}-{part}.gz"))
        ]
        for part in (f"train-{size}", "dev", "test")
    )
    return Parts(train, dev[:HELD_OUT], test[:HELD_OUT], "exact", SPELLING)


def transliteration(count: int) -> Parts:
    """German words, and how they are written in Cyrillic letters."""
    words = {word for _, german in _captions("train", "de") for word in re.findall(r"[A-Za-zäöüßÄÖÜ]{4,}", german)}
    chosen = _shuffled([(word, cyrillic(word)) for word in sorted(words)])
    return _split(chosen[: count + 2 * HELD_OUT], "exact", SPELLING)


def numerals(count: int) -> Parts:
    """Numbers below a million, in digits and in English words."""
    drawn = random.Random(1).sample(range(1_000_000), count + 2 * HELD_OUT)
    return _split([(str(number), spelled(number)) for number in drawn], "exact", SPELLING)


CORPORA: dict[str, Callable[[], Parts]] = {
    "dates": lambda: dates(10_000),
    "numerals": lambda: numerals(5_000),
    "transliteration": lambda: transliteration(4_000),
    "inflection, German 1,000": lambda: inflection("german", "medium"),
    "inflection, Spanish 10,000": lambda: inflection("spanish", "high"),
    "SCAN": lambda: scan(16_000),
    "captions 500": lambda: multi30k(500),
    "captions 500, Czech": lambda: multi30k(500, "cs"),
    "captions 3,000": lambda: multi30k(3_000),
    "captions 3,000, Czech": lambda: multi30k(3_000, "cs"),
    "captions 29,000": lambda: multi30k(29_000),
    "short captions 15,000": lambda: short_captions(15_000),
    "agglutinative 3,000": lambda: multi30k(3_000, "de", agglutinated),
    "right to left 3,000": lambda: multi30k(3_000, "de", semitic),
    "no spaces, many letters 3,000": lambda: multi30k(3_000, "de", logographic),
    "no spaces, few letters 3,000": lambda: multi30k(3_000, "de", unspaced),
}
WEIGHTS = {name: 1.5 if "3,000" in name else 0.7 if "500" in name else 1.0 for name in CORPORA} | {
    "captions 29,000": 37.5,
    "short captions 15,000": 15.0,
}
"""the share of the budget that a corpus needs to be learned at all; of 40 s, the two large ones have about half of the
time that their advised training takes"""
_GLUED = {"ein", "eine", "einen", "einem", "einer", "der", "die", "das", "den", "dem", "und", "in", "im", "auf", "mit"}
_CYRILLIC = dict(zip("abcdefghijklmnoprstuvwz", "абцдефгхийклмнопрстуввз", strict=True))
_CLUSTERS = {"sch": "ш", "tsch": "ч", "ch": "х", "ei": "ай", "eu": "ой", "äu": "ой", "ck": "к", "ie": "и", "ß": "с"}
_CLUSTERS |= {"st": "шт", "sp": "шп", "ph": "ф", "ä": "э", "ö": "ё", "ü": "ю", "qu": "кв", "x": "кс", "y": "ю"}
_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def agglutinated(text: str) -> str:
    """Articles, prepositions and conjunctions become endings of the word that follows them."""
    made, held = [], ""
    for word in text.split():
        if word.lower().strip(",.") in _GLUED:
            held = word.lower().strip(",.")[:3] + held
        else:
            made.append(re.sub(r"(\w+)", rf"\g<1>{held}", word, count=1))
            held = ""
    return " ".join([*made, held] if held else made)


def semitic(text: str) -> str:
    """Arabic letters, and no vowels but the first of a word."""
    letters = "".join(re.sub(r"(?<=\w)[aeiouäöü]", "", word.lower()) + " " for word in text.split())
    return "".join(chr(0x0628 + crc32(one.encode()) % 34) if one.isalpha() else one for one in letters).strip()


def logographic(text: str) -> str:
    """A Chinese character for every three letters of a word, and no spaces."""
    parts = re.findall(r"\w{1,3}|[^\w\s]", text.lower())
    return "".join(chr(0x4E00 + crc32(part.encode()) % 3_000) if part.isalnum() else part for part in parts)


def unspaced(text: str) -> str:
    """Thai letters without spaces."""
    return "".join(chr(0x0E01 + crc32(one.encode()) % 46) for one in text.lower() if one.isalpha())


def cyrillic(word: str) -> str:
    """By rules that look at up to four letters."""
    found, rest = "", word.lower()
    while rest:
        size = next(size for size in (4, 3, 2, 1) if rest[:size] in _CLUSTERS or size == 1)
        found += _CLUSTERS.get(rest[:size]) or _CYRILLIC.get(rest[0], rest[0])
        rest = rest[size:]
    return found


def spelled(number: int) -> str:
    """A number below a million in English words."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    size, name = (100, "hundred") if number < 1_000 else (1_000, "thousand")
    return f"{spelled(number // size)} {name}" + (f" {spelled(number % size)}" if number % size else "")


def _split(pairs: Sequence[tuple[str, str]], metric: str, tokenizers: tuple[str, ...] = SENTENCES) -> Parts:
    mixed = _shuffled(list(dict.fromkeys(pairs)))
    return Parts(mixed[2 * HELD_OUT :], mixed[:HELD_OUT], mixed[HELD_OUT : 2 * HELD_OUT], metric, tokenizers)


def _shuffled(pairs: Sequence[tuple[str, str]]) -> Pairs:
    return random.Random(1).sample(pairs, len(pairs))


def _captions(part: str, target: str) -> Pairs:
    return list(zip(*(_lines(f"multi30k/{part}.{side}.gz") for side in ("en", target)), strict=True))


def _lines(name: str) -> list[str]:
    return gzip.decompress((SHARED / name).read_bytes()).decode().splitlines()
