"""Checks of a corpus before training: duplicates, leaks, copies and so on, counted, with the lines where they are.

Memory stays small on large corpora: lines are remembered as 64-bit hashes, and the costly checks look at a sample.
"""

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from regard.base.wording import counted
from regard.data.corpus import Corpus, Counts, SentencePair, text_hash

_SHOWN = 5
_SAMPLE = 200_000
_HARMLESS = "harmless in small numbers; drop them if they are many"
_MEMORY = "scores on them measure memory, not skill; take them out of the training text"


@dataclass
class Finding:
    """One kind of fault: its count and the first lines that have it."""

    what: str
    """what is wrong with several of them, such as `lines have a blank side`"""
    advice: str
    count: int = 0
    places: list[str] = field(default_factory=list)
    one: str = ""
    """the same of one, such as `line has a blank side`"""

    def add(self, place: str) -> None:
        """Count one more."""
        self.count += 1
        if len(self.places) < _SHOWN:
            self.places.append(place)

    def __str__(self) -> str:
        shown = "; ".join(self.places)
        where = f" ({shown}{' …' if self.count > len(self.places) else ''})" if shown else ""
        return f"{counted(self.count, self.one or self.what, self.what)}{where}: {self.advice}"


@dataclass(frozen=True)
class Checkup:
    """Facts about the data, and the faults found in it."""

    facts: tuple[str, ...]
    findings: list[Finding]


def check_corpus(train: Corpus, held_out: dict[str, Corpus]) -> Checkup:
    """Find duplicates, leaks into held-out sets, copies, odd lengths and lines in the wrong language."""
    counts = Counts()
    seen = _Seen(train.pairs(counts))
    duplicates = Finding("pairs occur once more", _HARMLESS, one="pair occurs once more")
    for line in seen.repeated:
        duplicates.add(f"line {line}")
    findings = [_blank(counts), duplicates]
    for name, corpus in held_out.items():
        findings += _leaks(name, corpus, seen)
    sample = list(islice(train.pairs(), _SAMPLE))
    findings += [_copies(sample), _odd_lengths(sample), *_wrong_language(sample)]
    found = [finding for finding in findings if finding.count]
    sound = () if found else ("no duplicates, leaks, copies, odd lengths or lines in a wrong language",)
    return Checkup((str(counts), *sound), found)


def check_lines(train: Corpus, held_out: dict[str, Corpus]) -> Checkup:
    """Find duplicates in one-sided text, and lines of held-out sets that stand in the training text."""
    counts = Counts()
    hashes, lines = array("Q"), array("I")
    for line in train.lines(counts):
        hashes.append(text_hash(line.text))
        lines.append(line.line)
    seen, firsts = np.unique(np.array(hashes, np.uint64), return_index=True)
    duplicates = Finding("lines occur once more", _HARMLESS, one="line occurs once more")
    for number in np.delete(np.array(lines), firsts):
        duplicates.add(f"line {number}")
    findings = [duplicates]
    for name, corpus in held_out.items():
        stand = "in the training text"
        leak = Finding(f"lines of {name} stand {stand}", _MEMORY, one=f"line of {name} stands {stand}")
        for line in corpus.lines():
            if _in(text_hash(line.text), seen):
                leak.add(f"line {line.line} of {name}")
        findings.append(leak)
    found = [finding for finding in findings if finding.count]
    return Checkup((str(counts), *(() if found else ("no duplicates or leaks",))), found)


class _Seen:
    """Hashes of all lines that were read, 20 bytes a pair."""

    def __init__(self, pairs: Iterable[SentencePair]) -> None:
        sources, targets, lines = array("Q"), array("Q"), array("I")
        for pair in pairs:
            sources.append(text_hash(pair.source))
            targets.append(text_hash(pair.target))
            lines.append(pair.line)
        both = np.array(sources, np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ np.array(targets, np.uint64)
        firsts = np.unique(both, return_index=True)[1]
        self.repeated = np.delete(np.array(lines), firsts)
        self.sources, self.targets = np.unique(np.array(sources)), np.unique(np.array(targets))


def _in(value: int, values: NDArray[np.uint64]) -> bool:
    at = int(np.searchsorted(values, np.uint64(value)))
    return at < len(values) and int(values[at]) == value


def _blank(counts: Counts) -> Finding:
    blank = counts.blank + counts.blank_source + counts.blank_target
    return Finding("lines have a blank side", "skipped in training", blank, one="line has a blank side")


def _leaks(name: str, corpus: Corpus, seen: _Seen) -> list[Finding]:
    stand = "both sides in the training text"
    both = Finding(f"pairs of {name} have {stand}", _MEMORY, one=f"pair of {name} has {stand}")
    source = Finding(
        f"sources of {name} stand in the training text with another translation",
        "scores on them reward or punish what was learned by heart; take them out of the training text",
        one=f"source of {name} stands in the training text with another translation",
    )
    for pair in corpus.pairs():
        if _in(text_hash(pair.source), seen.sources):
            leak = both if _in(text_hash(pair.target), seen.targets) else source
            leak.add(f"line {pair.line} of {name}")
    return [both, source]


def _copies(sample: list[SentencePair]) -> Finding:
    same, why = "the same text on both sides", "untranslated lines teach the model to copy"
    copies = Finding(f"pairs have {same}", why, one=f"pair has {same}")
    for pair in sample:
        if pair.source.casefold() == pair.target.casefold() and sum(map(str.isalpha, pair.source)) > 3:
            copies.add(f"line {pair.line}")
    return copies


def _odd_lengths(sample: list[SentencePair]) -> Finding:
    why = "often a wrong alignment of lines; look, and drop the wrong ones"
    odd = Finding("pairs have very unequal lengths", why, one="pair has very unequal lengths")
    ratios = [math.log((len(pair.target) + 5) / (len(pair.source) + 5)) for pair in sample]
    if len(ratios) < 10:
        return odd
    middle = statistics.median(ratios)
    usual = statistics.median(abs(ratio - middle) for ratio in ratios) * 1.4826 + 0.02
    for pair, ratio in zip(sample, ratios, strict=True):
        if abs(ratio - middle) > max(6 * usual, math.log(2)):
            odd.add(f"line {pair.line}: {len(pair.source)} and {len(pair.target)} characters")
    return odd


def _wrong_language(sample: list[SentencePair]) -> list[Finding]:
    """Lines whose letters look more like the other side's, or like neither side's."""
    texts = [pair.source for pair in sample], [pair.target for pair in sample]
    models = [_Trigrams(side) for side in texts]
    other_side, neither = "like the other side's language", "like neither language"
    swapped = Finding(f"lines look {other_side}", "untranslated or on the wrong side", one=f"line looks {other_side}")
    strange = Finding(f"lines look {neither}", "another language, a table or noise", one=f"line looks {neither}")
    if len(sample) < 100:
        return [swapped, strange]
    for side, name in enumerate(("source", "target")):
        own = [models[side].mean(text) for text in texts[side]]
        usual, spread = statistics.fmean(own), statistics.pstdev(own)
        for pair, text, fit in zip(sample, texts[side], own, strict=True):
            if len(text) < 12:
                continue
            other = models[1 - side].mean(text)
            if other - fit > 0.7:
                swapped.add(f"line {pair.line}, {name}")
            elif max(fit, other) < usual - 6 * spread:
                strange.add(f"line {pair.line}, {name}")
    return [swapped, strange]


class _Trigrams:
    """A character trigram model of one language, learned from its side of the corpus."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._counts: Counter[str] = Counter()
        for text in islice(texts, 50_000):
            self._counts.update(_threes(text))
        self._total = math.log(sum(self._counts.values()) + 1.0)

    def mean(self, text: str) -> float:
        """The mean log-probability of the text's trigrams; unseen ones count as half an occurrence."""
        found = [math.log(self._counts.get(three, 0) + 0.5) - self._total for three in _threes(text)]
        return sum(found) / len(found) if found else 0.0


def _threes(text: str) -> Iterator[str]:
    folded = f" {text.casefold()} "
    return (folded[at : at + 3] for at in range(len(folded) - 2))
