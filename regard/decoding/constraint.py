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
class Progress:
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
    def start(self) -> Progress:
        """The progress of an output without tokens."""
        return self._progress(frozenset(), ())

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

    def advance(self, progress: Progress, token: int) -> Progress:
        """The progress after one more token."""
        closed = self.closed(progress, token)
        met = progress.met | closed if closed else progress.met
        return self._progress(met, (*progress.recent, token)[-self._longest :] if self.phrases else ())

    def closed(self, progress: Progress, token: int | None) -> frozenset[int]:
        """The phrases that are complete once this token follows; None stands for the end of the output."""
        ending = token is None or token in self.ends or token in self._firsts
        return frozenset(
            at
            for at, phrase in enumerate(self.phrases)
            if at not in progress.met
            and (ending or not phrase.whole)
            and any(progress.recent[-len(one) :] == one for one in phrase.alternatives)
        )

    def may_end(self, progress: Progress) -> bool:
        """Whether an output that ends here has every phrase."""
        return len(progress.met) + len(self.closed(progress, None)) == len(self.phrases)

    def unmet(self, tokens: tuple[int, ...]) -> list[Phrase]:
        """The phrases that an output does not have."""
        progress = self.start
        for token in tokens:
            progress = self.advance(progress, token)
        met = progress.met | self.closed(progress, None)
        return [phrase for at, phrase in enumerate(self.phrases) if at not in met]

    def _progress(self, met: frozenset[int], recent: tuple[int, ...]) -> Progress:
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
        return Progress(met, recent, missing - saved, frozenset(following))


def _begun(phrase: tuple[int, ...], recent: tuple[int, ...]) -> int:
    """How many tokens of a phrase the recent ones end with."""
    for count in range(min(len(phrase), len(recent)), 0, -1):
        if recent[-count:] == phrase[:count]:
            return count
    return 0
