"""Training of subword tokenizers.

| kind | pieces | paper |
|---|---|---|
| `bpe` | merges of the most frequent pairs | Sennrich et al. 2016, arXiv:1508.07909 |
| `unigram` | the likeliest pieces under a unigram model | Kudo 2018, arXiv:1804.10959 |
| `word` | whole words and punctuation marks | |
| `character` | single characters | |

The same lines and settings give the same vocabulary.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from tokenizers import models, trainers

from regard.base.errors import ConfigError, RegardError, check_at_least, check_at_most, check_one_of
from regard.data.corpus import Corpus, Texts
from regard.data.subwords import assemble
from regard.data.subwords.tokenizer import MARK, SPECIALS, UNK, SubwordPair, Subwords
from regard.data.subwords.whole_tags import tags_of

SubwordKind = Literal["bpe", "unigram", "word", "character"]
Sharing = Literal["joint", "separate"]
Tags = Literal["spelled", "whole"]
_HANDED_OVER = 1_000
_LOOKED_AT = 1_000


_MOST_PIECES = 10_000_000


@dataclass(frozen=True, kw_only=True)
class SubwordSettings:
    """Settings of a tokenizer: `size` is the vocabulary size, all ids included; a small text may give fewer.

    `characters` bounds the alphabet, by default to half of `size`: without a bound, the odd characters of a large web
    corpus would leave no room for pieces. Rarer characters become bytes with `byte_fallback`, otherwise `<unk>`.
    `min_count` is how often a pair (or a word) must occur to become a piece; `lines` is how much of a corpus is read.
    """

    kind: SubwordKind = "bpe"
    """bpe (byte-pair encoding), unigram (a unigram language model), word, or character"""
    size: int = 8_000
    """the vocabulary size, all ids included; a small text may give fewer"""
    sharing: Sharing = "joint"
    """joint: source and target share one vocabulary; separate: each has its own"""
    byte_fallback: bool = False
    """write characters outside the alphabet as bytes, so that any text can be written; otherwise they become `<unk>`"""
    characters: int | None = None
    """the most characters of the alphabet; by default half of `size`"""
    min_count: int = 2
    """how often a pair of pieces, or a word, must occur to become a piece"""
    lines: int = 1_000_000
    """how many lines of the text are read to learn from"""
    tags: Tags = "spelled"
    """whole: in a vocabulary of characters, parts of the source whose letters the targets mostly do not have, such as
    the grammatical tags beside a lemma, are one token each"""

    def __post_init__(self) -> None:
        check_one_of("subwords", get_args(SubwordKind), kind=self.kind)
        check_one_of("subwords", get_args(Sharing), sharing=self.sharing)
        check_one_of("subwords", get_args(Tags), tags=self.tags)
        check_at_least("subwords", 1, min_count=self.min_count, lines=self.lines, characters=self.characters or 1)
        check_at_least("subwords", self.reserved + 2, size=self.size)
        check_at_most("subwords", _MOST_PIECES, size=self.size, characters=self.characters or 1)
        if self.byte_fallback and self.kind == "word":
            raise ConfigError("subwords.byte_fallback: words are not written in bytes; use bpe, unigram or character")

    @property
    def reserved(self) -> int:
        """The ids that are not learned: special tokens and, with byte fallback, bytes."""
        return len(SPECIALS) + (len(assemble.BYTES) if self.byte_fallback else 0)

    @property
    def alphabet(self) -> int:
        """The largest number of characters in the vocabulary, without the word-beginning mark."""
        room = self.size - self.reserved - 1
        if self.kind == "character":
            return min(room, self.characters or room)
        return min(room, self.characters or max(1, room // 2))


def train_pair(corpus: Corpus, settings: SubwordSettings) -> SubwordPair:
    """Train the tokenizers of both sides of a corpus: one joint vocabulary, or separate ones."""
    if settings.tags == "whole" and settings.kind != "character":
        raise ConfigError(f"subwords.tags: 'whole' is for kind = 'character', but kind is '{settings.kind}'")
    tags = tags_of(islice(corpus.rows(), settings.lines), settings.min_count) if settings.tags == "whole" else []
    if settings.sharing == "joint":
        both = learn_subwords(Texts(corpus, (0, 1), settings.lines), settings, tags)
        return SubwordPair(both, both)
    source, target = (
        learn_subwords(Texts(corpus, (side,), settings.lines), settings, own) for side, own in ((0, tags), (1, []))
    )
    return SubwordPair(source, target)


def learn_subwords(lines: Iterable[str], settings: SubwordSettings, tags: Sequence[str] = ()) -> Subwords:
    """Train a tokenizer on lines of text, which are read twice: for the characters, then for the pieces.

    With `kind` "character", `tags` are pieces too, as far as there is room for them.
    """
    if iter(lines) is lines:
        lines = list(lines)
    counted: Counter[str] = Counter()
    for line in lines:
        counted.update(unicodedata.normalize("NFC", line))
    visible = [character for character in counted if not character.isspace() and character != MARK]
    if not visible:
        raise RegardError("subwords: there is no text to learn from")
    ranked = sorted(visible, key=lambda character: (-counted[character], character))
    kept = ranked[: settings.alphabet] if settings.kind != "word" else ranked
    dropped = dict.fromkeys(map(ord, ranked[len(kept) :]), " ")
    cleaned = (unicodedata.normalize("NFC", line).translate(dropped) for line in lines) if dropped else iter(lines)
    if tags:
        room = settings.size - settings.reserved - 1 - len(kept)
        model = assemble.tagged_characters([MARK, *sorted(kept)], tags[:room], byte_fallback=settings.byte_fallback)
    else:
        model = _TRAINERS[settings.kind](cleaned, sorted(kept), settings)
    subwords = Subwords(assemble.declare_specials(assemble.blank(model)))
    _refuse_tiny(subwords, list(islice(lines, _LOOKED_AT)), settings)
    return subwords


def _refuse_tiny(subwords: Subwords, sample: list[str], settings: SubwordSettings) -> None:
    """Raise an error if the vocabulary cannot encode its own training text."""
    if settings.kind == "bpe" and subwords.kind == "character":
        raise RegardError(
            f"subwords: no two characters occur together {settings.min_count} times, so nothing was learned beyond "
            f"{len(subwords):,} characters; give more text, lower 'min_count' or use kind = 'character'"
        )
    encoded = [number for row in subwords.encode_batch(sample) for number in row]
    unknown = sum(number == UNK for number in encoded)
    if 2 * unknown > len(encoded):
        raise RegardError(
            f"subwords: the vocabulary came out with {len(subwords):,} pieces and cannot write {unknown:,} of the "
            f"first {len(encoded):,} tokens of its own text; raise 'size' ({settings.size:,}) or lower 'min_count' "
            f"({settings.min_count})"
        )


def _learn(lines: Iterator[str], model: Any, trainer: Any) -> dict[str, Any]:
    tokenizer = assemble.blank(model)
    tokenizer.train_from_iterator(iter(lambda: list(islice(lines, _HANDED_OVER)), []), trainer)
    learned: dict[str, Any] = assemble.content(tokenizer)["model"]
    return learned


def _train_bpe(lines: Iterator[str], alphabet: list[str], settings: SubwordSettings) -> Any:
    trainer = trainers.BpeTrainer(
        vocab_size=settings.size - settings.reserved + len(SPECIALS),
        min_frequency=settings.min_count,
        special_tokens=list(SPECIALS),
        initial_alphabet=[MARK, *alphabet],
        show_progress=False,
    )
    learned = _learn(lines, models.BPE(unk_token=SPECIALS[UNK]), trainer)
    pieces = [piece for piece in learned["vocab"] if piece not in SPECIALS]
    return assemble.bpe(pieces, [tuple(merge) for merge in learned["merges"]], byte_fallback=settings.byte_fallback)


def _train_unigram(lines: Iterator[str], alphabet: list[str], settings: SubwordSettings) -> Any:
    trainer = trainers.UnigramTrainer(
        vocab_size=settings.size - settings.reserved + len(SPECIALS),
        special_tokens=list(SPECIALS),
        unk_token=SPECIALS[UNK],
        initial_alphabet=[MARK, *alphabet],
        show_progress=False,
    )
    learned = _learn(lines, models.Unigram(), trainer)["vocab"]
    scores = {piece: score for piece, score in learned if piece not in SPECIALS}
    return assemble.unigram(_settle(scores), byte_fallback=settings.byte_fallback)


def _settle(scores: dict[str, float]) -> dict[str, float]:
    """Make scores and order deterministic.

    The library sums in the order of a hash table, which changes from run to run: scores differ in their last digits,
    and the characters that no piece needed get the lowest score plus steps of 0.0001 in that order. So such
    characters all get the lowest score, the others are rounded to 0.001, and equal ones are sorted by their spelling.
    """
    lowest = min(scores.values())
    steps = {piece: (score - lowest) * 1e4 for piece, score in scores.items() if len(piece) == 1}
    spare = {piece for piece, step in steps.items() if step < len(steps) and abs(step - round(step)) < 1e-3}
    settled = {piece: round(lowest if piece in spare else score, 3) for piece, score in scores.items()}
    return dict(sorted(settled.items(), key=lambda item: (-item[1], item[0])))


def _train_words(lines: Iterator[str], alphabet: list[str], settings: SubwordSettings) -> Any:
    trainer = trainers.WordLevelTrainer(
        vocab_size=settings.size, min_frequency=settings.min_count, special_tokens=list(SPECIALS), show_progress=False
    )
    learned = _learn(lines, models.WordLevel(unk_token=SPECIALS[UNK]), trainer)["vocab"]
    return assemble.word_level([piece for piece in learned if piece not in SPECIALS])


def _train_characters(lines: Iterator[str], alphabet: list[str], settings: SubwordSettings) -> Any:
    return assemble.bpe([MARK, *alphabet], [], byte_fallback=settings.byte_fallback)


_TRAINERS: dict[str, Callable[[Iterator[str], list[str], SubwordSettings], Any]] = {
    "bpe": _train_bpe,
    "unigram": _train_unigram,
    "word": _train_words,
    "character": _train_characters,
}
