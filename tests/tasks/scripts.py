"""Text as in natural languages of several scripts: words drawn by Zipf's law, sentences drawn word by word."""

import random
from collections.abc import Iterable
from itertools import accumulate

LETTERS = {
    "latin": "abcdefghilmnoprstuvw",
    "arabic": "ابتجحدرسشصعفقكلمنهوي",
    "cyrillic": "абвгдежзиклмнопрстуф",
    "devanagari": "कखगघचजटडतदनपबमयरलवसह",
    "hangul": "".join(chr(0xAC00 + 28 * at) for at in range(200)),
    "han": "".join(chr(0x4E00 + 7 * at) for at in range(900)),
    "kana": "".join(chr(0x3042 + at) for at in range(70)),
    "thai": "".join(chr(0x0E01 + at) for at in range(40)),
    "khmer": "".join(chr(0x1780 + at) for at in range(33)),
}
UNSPACED = ("han", "kana", "thai", "khmer")
_WORD = {"han": (1, 2), "kana": (1, 4), "hangul": (1, 4)}


class Language:
    """A vocabulary of made-up words, the common ones first."""

    def __init__(self, script: str, size: int = 3_000, endings: int = 1) -> None:
        self.script, self.chance = script, random.Random(script)
        self.endings = ["", *(self._word() for _ in range(endings - 1))]
        self.words = [self._word() for _ in range(size)]
        self.sums = list(accumulate(1 / rank for rank in range(1, size + 1)))

    def sentence(self, words: int) -> str:
        """So many words; each may have one of the endings, as in an agglutinative language."""
        drawn = self.chance.choices(self.words, cum_weights=self.sums, k=words)
        spelled = [word + self.chance.choice(self.endings) for word in drawn]
        return ("" if self.script in UNSPACED else " ").join(spelled)

    def _word(self) -> str:
        return "".join(
            self.chance.choices(LETTERS[self.script], k=self.chance.randint(*_WORD.get(self.script, (2, 8))))
        )


def sentences(source: str, target: str, count: int, words: int = 6, endings: int = 1) -> list[tuple[str, str]]:
    """Pairs of sentences of about so many words."""
    languages, chance = (Language(source), Language(target, endings=endings)), random.Random(1)
    lengths = [max(1, words + chance.randint(-2, 2)) for _ in range(count)]
    made = [(languages[0].sentence(length), languages[1].sentence(length)) for length in lengths]
    # One language on both sides draws the same words: the target then has them in another order.
    return [(one, other if one != other else " ".join(reversed(other.split()))) for one, other in made]


def lines(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """As a .tsv file has them."""
    return [f"{source}\t{target}" for source, target in pairs]
