"""Grammatical tags as whole tokens among characters."""

from pathlib import Path

import pytest

from regard.base.errors import ConfigError
from regard.data.corpus import open_corpus
from regard.data.subwords.learn import SubwordSettings, train_pair
from regard.data.subwords.open_words import open_vocabulary
from regard.data.subwords.tokenizer import Subwords
from regard.data.subwords.whole_tags import tagged_share, tags_of

ROWS = [
    (f"{lemma} {tags}", lemma + ending)
    for lemma in ("walk", "talk", "jump", "look")
    for ending, tags in (("ed", "V;PST"), ("ing", "V.PTCP;PRS"))
]


def test_tags_are_what_targets_do_not_spell() -> None:
    assert tags_of(ROWS, 2) == ["▁V", ".PTCP", ";PRS", ";PST"]
    assert tags_of(ROWS, 5) == ["▁V"]
    assert tagged_share(ROWS) == 1.0
    assert tagged_share([("walk", "walked"), ("talk", "talked")] * 5) == 0.0


@pytest.mark.parametrize("sharing", ["joint", "separate"])
def test_letters_are_spelled_and_tags_are_whole(tmp_path: Path, sharing: str) -> None:
    file = tmp_path / "forms.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in ROWS))
    settings = SubwordSettings(kind="character", size=100, sharing=sharing, tags="whole")  # type: ignore[arg-type]
    pair = train_pair(open_corpus(file), settings)
    spelled = [pair.source.pieces[number] for number in pair.source.encode("jump V.PTCP;PRS")]
    assert spelled == ["▁", "j", "u", "m", "p", "▁V", ".PTCP", ";PRS"]
    assert [pair.target.pieces[number] for number in pair.target.encode("walked")] == ["▁", *"walked"]
    again = Subwords.from_json(pair.source.to_json())
    assert (again, again.kind) == (pair.source, "character")
    odd = "wäl V;PST;XY"
    opened = open_vocabulary(pair.source, odd)
    assert opened.decode(opened.encode(odd)) == odd


def test_tags_are_whole_among_characters_alone(tmp_path: Path) -> None:
    file = tmp_path / "forms.tsv"
    file.write_text("walk V;PST\twalked\n")
    with pytest.raises(ConfigError, match="'whole' is for kind = 'character', but kind is 'bpe'"):
        train_pair(open_corpus(file), SubwordSettings(tags="whole"))
