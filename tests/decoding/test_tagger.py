import pytest

from regard.base.errors import UsageError
from regard.decoding.tagger import Tagger

from .readers import reader, vocabulary


@pytest.fixture
def tagger() -> Tagger:
    return Tagger(reader(tags=3), vocabulary(), ["O", "X", "Y"])


def test_every_word_has_a_tag_also_where_a_sentence_is_long(tagger: Tagger) -> None:
    sentences = [["the", "cat"], [], ["dog"] * 40]
    found = tagger.tag(sentences)
    assert [len(tags) for tags in found] == [2, 0, 40]
    assert set().union(*map(set, found)) <= {"O", "X", "Y"}
    assert found[0] == tagger.tag([["the", "cat"]])[0]


def test_lines_are_split_at_spaces(tagger: Tagger) -> None:
    (one,) = tagger.predict(["the  cat sat"])
    assert one.details == {"words": ["the", "cat", "sat"], "tags": one.text.split()}
    assert one.details["tags"] == tagger.tag([["the", "cat", "sat"]])[0]
    with pytest.raises(UsageError, match="as a list of words"):
        tagger.tag(["the cat"])
