"""Statistics of a corpus, from which its kind can be told: sentences, a small closed vocabulary, a code.

All lines are counted; the rest is counted on a random sample of the whole corpus, since many are sorted, by length for
instance.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from random import Random

from regard.base.errors import RegardError
from regard.data.corpus import Corpus, Counts
from regard.data.subwords.tokenizer import UNSPACED
from regard.data.subwords.whole_tags import tagged_share

_SAMPLE = 20_000
_TAGGED = 2_000
"""lines in which tags are looked for"""
_EAST = "\u3000"
"""the first of the letters of China and Japan; those of Thailand, Laos, Burma and Cambodia come before it"""
_HELD_OUT = 10
"""every tenth line of the sample is what the other nine are asked about"""
_COMMON = 0.9
"""the share of a text whose most frequent characters a vocabulary must have; rarer ones are hardly learned"""


@dataclass(frozen=True)
class SideStatistics:
    """One side of a corpus. Words end at white space; in a script without spaces, some letters in a row are a word."""

    words: float
    """mean number of words in a line"""
    most_words: int
    """95 % of the lines have at most this many words"""
    characters: float
    """mean number of characters in a line"""
    most_characters: int
    """95 % of the lines have at most this many characters"""
    tokens: int
    """words in the sample, where each letter of a script without spaces is one"""
    types: int
    """different ones among them"""
    novelty: float
    """the share of tokens that the rest of the corpus does not have: how fast the vocabulary still grows"""
    alphabet: int
    """how many of the most frequent characters make up nine tenths of the text"""
    unspaced: float
    """the share of characters that belong to scripts without spaces"""

    @property
    def closed(self) -> bool:
        """Whether the words are few, each comes often, and no others are to be expected."""
        return self.types <= 1_000 and self.tokens >= 20 * self.types and self.novelty < 0.002 and self.unspaced < 0.5


@dataclass(frozen=True)
class TextStatistics:
    """A corpus of one or two sides."""

    lines: int
    sides: tuple[SideStatistics, ...]
    shared: float = 1.0
    """the share of the characters of both sides, white space aside, that occur on both"""
    copied: float = 0.0
    """the mean share of a target's three letters in a row that its own source has, too"""
    tagged: float = 0.0
    """the share of sources with a part that comes again and again, but whose letters are not in the targets, such as a
    grammatical tag"""
    stretch_characters: float = 1.0
    """the most characters of a target, from the tenth on, for each of its source"""
    stretch_words: float = 1.0
    """the same of words"""

    @property
    def source(self) -> SideStatistics:
        """The first side."""
        return self.sides[0]

    @property
    def target(self) -> SideStatistics:
        """The last side."""
        return self.sides[-1]


def statistics_of(corpus: Corpus, most: int = _SAMPLE) -> TextStatistics:
    """Count all lines, and look closely at no more than `most` of them."""
    counts = Counts()
    rows = drawn(corpus.rows(counts), most)
    if not rows:
        raise RegardError(f"{corpus.files[0]}: no line has text on every side")
    counted = [_Counted(side) for side in zip(*rows, strict=True)]
    found = tuple(side.statistics() for side in counted)
    if len(found) == 1:
        return TextStatistics(counts.kept, found)
    ratios = (_stretch(rows, len), _stretch(rows, words_in))
    tagged = tagged_share(rows[:: 1 + len(rows) // _TAGGED])
    return TextStatistics(counts.kept, found, _shared(counted), _copied(rows), tagged, *ratios)


def drawn(rows: Iterator[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
    """A random sample of all rows, always the same (reservoir sampling: Vitter, 1985, algorithm R)."""
    kept, chance = list(islice(rows, most)), Random(1)
    for at, row in enumerate(rows, start=most + 1):
        place = chance.randrange(at)
        if place < most:
            kept[place] = row
    return kept


def words_in(text: str) -> int:
    """Words by white space; without it, two letters of Chinese or Japanese are one, or five of Thai or Khmer."""
    letters = UNSPACED.findall(text)
    ideograms = sum(letter >= _EAST for letter in letters)
    return max(len(text.split()), ideograms // 2 + (len(letters) - ideograms) // 5)


class _Counted:
    """The words and characters of the lines of one side."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.letters: Counter[str] = Counter()
        for text in texts:
            self.letters.update(text)

    @cached_property
    def tokens(self) -> list[list[str]]:
        return [UNSPACED.sub(r" \g<0> ", text).split() for text in self.texts]

    def statistics(self) -> SideStatistics:
        words = [words_in(text) for text in self.texts]
        lengths = [len(text) for text in self.texts]
        visible = {letter: count for letter, count in self.letters.items() if not letter.isspace()}
        total = max(1, sum(visible.values()))
        types = {token for line in self.tokens for token in line}
        return SideStatistics(
            words=sum(words) / len(words),
            most_words=_within(words),
            characters=sum(lengths) / len(lengths),
            most_characters=_within(lengths),
            tokens=sum(map(len, self.tokens)),
            types=len(types),
            novelty=self._novelty(),
            alphabet=_alphabet(visible.values()),
            unspaced=sum(count for letter, count in visible.items() if UNSPACED.match(letter)) / total,
        )

    def _novelty(self) -> float:
        held_out = [token for line in self.tokens[::_HELD_OUT] for token in line]
        known = {token for at, line in enumerate(self.tokens) if at % _HELD_OUT for token in line}
        return sum(token not in known for token in held_out) / max(1, len(held_out))


def _alphabet(counts: Iterable[int]) -> int:
    """How many of the largest counts have the share `_COMMON` of their sum."""
    ranked = sorted(counts, reverse=True)
    whole = sum(ranked)
    return sum(before < _COMMON * whole for before in accumulate(ranked, initial=0)) if whole else 0


def _within(values: Sequence[int]) -> int:
    """The 95th percentile."""
    return sorted(values)[(len(values) - 1) * 95 // 100]


def _shared(counted: Sequence[_Counted]) -> float:
    common = set.intersection(*(set(side.letters) for side in counted))
    counts = [(letter in common, count) for side in counted for letter, count in side.letters.items() if letter.strip()]
    return sum(count for both, count in counts if both) / max(1, sum(count for _, count in counts))


def _copied(rows: Sequence[tuple[str, ...]]) -> float:
    shares = []
    for source, target in (map(_threes, row) for row in rows):
        if target:
            shares.append(len(source & target) / len(target))
    return sum(shares) / max(1, len(shares))


def _stretch(rows: Sequence[tuple[str, ...]], size: Callable[[str], int]) -> float:
    """The largest ratio of a target's size to its source's; ten more are always granted, since short lines vary."""
    return max((size(target) - 10) / max(1, size(source)) for source, target in rows)


def _threes(text: str) -> set[str]:
    """All three characters in a row, in lower case."""
    lower = text.lower()
    return {lower[at : at + 3] for at in range(len(lower) - 2)}
