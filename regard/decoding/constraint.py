"""Phrases that an output must contain, and how far a hypothesis has come with them."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Phrase:
    """Token sequences of which one must occur in the output, as whole words or anywhere."""

    alternatives: tuple[tuple[int, ...], ...]
    whole: bool = True
    """whether a token that continues the last word spoils the occurrence"""

    @property
    def least(self) -> int:
        """The fewest tokens that write it."""
        return min(map(len, self.alternatives))


@dataclass(frozen=True)
class Coverage:
    """What a hypothesis has met: a function of its tokens."""

    met: frozenset[int] = frozenset()
    recent: tuple[int, ...] = ()
    """its last tokens, as many as the longest phrase has"""
    missing: int = 0
    """how many tokens are still needed at least, if it goes on with what it has begun"""
    following: frozenset[int] = frozenset()
    """the tokens that begin or continue a phrase that is not met"""


@dataclass(frozen=True, eq=False)
class Constraint:
    """The phrases of one sentence; `ends` are the tokens before which a word has ended."""

    phrases: tuple[Phrase, ...]
    ends: AbstractSet[int] = field(default_factory=frozenset)

    @property
    def least(self) -> int:
        """The fewest tokens that write all phrases."""
        return sum(phrase.least for phrase in self.phrases)

    @cached_property
    def start(self) -> Coverage:
        """The coverage of an output without tokens."""
        return self._coverage(frozenset(), ())

    @cached_property
    def _longest(self) -> int:
        return max(len(one) for phrase in self.phrases for one in phrase.alternatives)

    @cached_property
    def _firsts(self) -> frozenset[int]:
        return frozenset(one[0] for phrase in self.phrases for one in phrase.alternatives)

    def fitting(self, room: int) -> "Constraint":
        """The first phrases that fit into so many tokens together."""
        kept: list[Phrase] = []
        for phrase in self.phrases:
            if phrase.least <= room:
                kept.append(phrase)
                room -= phrase.least
        return self if len(kept) == len(self.phrases) else Constraint(tuple(kept), self.ends)

    def advance(self, coverage: Coverage, token: int) -> Coverage:
        """The coverage after one more token."""
        closed = self.closed(coverage, token)
        met = coverage.met | closed if closed else coverage.met
        return self._coverage(met, (*coverage.recent, token)[-self._longest :] if self.phrases else ())

    def closed(self, coverage: Coverage, token: int | None) -> frozenset[int]:
        """The phrases that are complete once this token follows; None stands for the end of the output."""
        ending = token is None or token in self.ends or token in self._firsts
        return frozenset(
            at
            for at, phrase in enumerate(self.phrases)
            if at not in coverage.met
            and (ending or not phrase.whole)
            and any(coverage.recent[-len(one) :] == one for one in phrase.alternatives)
        )

    def may_end(self, coverage: Coverage) -> bool:
        """Whether an output that ends here has every phrase."""
        return len(coverage.met) + len(self.closed(coverage, None)) == len(self.phrases)

    def unmet(self, tokens: tuple[int, ...]) -> list[Phrase]:
        """The phrases that an output does not have."""
        coverage = self.start
        for token in tokens:
            coverage = self.advance(coverage, token)
        met = coverage.met | self.closed(coverage, None)
        return [phrase for at, phrase in enumerate(self.phrases) if at not in met]

    def _coverage(self, met: frozenset[int], recent: tuple[int, ...]) -> Coverage:
        missing, saved, following = 0, 0, set[int]()
        for at, phrase in enumerate(self.phrases):
            if at in met:
                continue
            missing += phrase.least
            for one in phrase.alternatives:
                begun = _begun(one, recent)
                saved = max(saved, phrase.least - (len(one) - begun))
                following.add(one[0])
                if begun < len(one):
                    following.add(one[begun])
        return Coverage(met, recent, missing - saved, frozenset(following))


def _begun(phrase: tuple[int, ...], recent: tuple[int, ...]) -> int:
    """How many tokens of a phrase the recent ones end with."""
    for count in range(min(len(phrase), len(recent)), 0, -1):
        if recent[-count:] == phrase[:count]:
            return count
    return 0
