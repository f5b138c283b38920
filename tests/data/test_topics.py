"""Generated sentences about topics."""

from collections import Counter
from pathlib import Path

import pytest

from regard.base.errors import ConfigError
from regard.data.labeled_files import read_labeled
from regard.data.topics import _WORDS, Topics, write_topics


def test_words_tell_the_topic(tmp_path: Path) -> None:
    write_topics(tmp_path / "topics.tsv", Topics(lines=600))
    examples = read_labeled(tmp_path / "topics.tsv")
    assert Counter(example.labels[0] for example in examples) == dict.fromkeys(_WORDS, 100)
    own = other = 0
    for example in examples:
        words = set(example.texts[0].split())
        own += len(words & set(_WORDS[example.labels[0]].split()))
        other += sum(len(words & set(rest.split())) for name, rest in _WORDS.items() if name != example.labels[0])
    assert other / (own + other) == pytest.approx(0.2, abs=0.04)


def test_the_seed_decides() -> None:
    assert list(Topics(lines=20)) == list(Topics(lines=20)) != list(Topics(lines=20, seed=2))


def test_no_stray_words() -> None:
    for topic, text in Topics(lines=30, topics=3, strays=0.0):
        assert len(set(text.split()) & set(_WORDS[topic].split())) >= 1
        others = [words for name, words in _WORDS.items() if name != topic]
        assert not any(set(text.split()) & set(words.split()) for words in others)


@pytest.mark.parametrize("bad", [{"topics": 1}, {"topics": 7}, {"strays": 1.5}, {"lines": 0}])
def test_bad_settings(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Topics(**bad)  # type: ignore[arg-type]
