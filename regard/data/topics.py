"""Generated sentences about topics: labeled texts without a download.

A sentence takes most of its content words from the vocabulary of its topic, some from those of other topics, and its
frame from words that all topics share. Latent Dirichlet allocation generates texts in this way: Blei et al., 2003,
https://jmlr.org/papers/v3/blei03a.html
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.base.errors import ConfigError, check_at_least
from regard.base.files import write_text

_WORDS = {
    "kitchen": "cook pan soup oven spoon recipe salt dough knife butter pepper onion stove sauce bread",
    "weather": "storm cloud rain wind thunder sun fog snow frost sky heat breeze hail puddle forecast",
    "music": "song drum violin choir melody guitar rhythm concert piano chorus tune singer band note stage",
    "travel": "train ticket suitcase hotel airport map border passport bus journey platform tourist guide harbor road",
    "sport": "goal team coach ball match referee runner medal stadium race player score whistle league net",
    "garden": "flower seed soil rake tree leaf hedge worm spade blossom root weed pond fence gardener",
}
_FRAMES = (
    "the {} and the {} are near the {}",
    "every {} needs a {} before the {}",
    "we saw a {} with the old {} and a {}",
    "there is no {} without a {} or a {}",
    "after the {} came another {} for the {}",
    "she told us about the {} the {} and the {}",
)


@dataclass(frozen=True)
class Topics:
    """Sentences, each with its topic."""

    lines: int = 1_200
    """how many sentences there are, equally many of each topic"""
    topics: int = 6
    """how many topics there are, six at most"""
    strays: float = 0.2
    """the share of content words that come from another topic"""
    seed: int = 1

    def __post_init__(self) -> None:
        check_at_least("topics", 1, lines=self.lines)
        if not 2 <= self.topics <= len(_WORDS):
            raise ConfigError(f"topics: topics must be from 2 to {len(_WORDS)}, but is {self.topics}")
        if not 0 <= self.strays <= 1:
            raise ConfigError(f"topics: strays must be from 0 to 1, but is {self.strays}")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Each topic's name and sentence, topics in turns."""
        draw = np.random.default_rng(self.seed)
        names = list(_WORDS)[: self.topics]
        words = [_WORDS[name].split() for name in names]
        for number in range(self.lines):
            own = number % len(names)
            apart = draw.random(3) < self.strays
            topics = np.where(apart, (own + draw.integers(1, len(names), 3)) % len(names), own)
            chosen = [words[topic][draw.integers(len(words[topic]))] for topic in topics]
            yield names[own], _FRAMES[draw.integers(len(_FRAMES))].format(*chosen)


def write_topics(path: Path | str, how: Topics = Topics()) -> None:  # noqa: B008 a frozen value
    """Write `topic, sentence` lines, for `regard probe`, `represent` and `init --from`."""
    write_text(Path(path), "".join(f"{topic}\t{text}\n" for topic, text in how))
