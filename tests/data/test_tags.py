from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.data.framed import Frame
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.tags import (
    NO_TAG,
    TaggedRows,
    TaggedSentence,
    factor_column,
    read_tagged,
    tag_numbers,
    unseen_tags,
    word_row,
)


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_columns_and_objects_are_read(tmp_path: Path) -> None:
    columns = written(tmp_path, "a.txt", "the DT B-NP\ndog NN I-NP\n\n\nran VB O\n")
    objects = written(
        tmp_path, "a.jsonl", '{"words": ["the", "dog"], "tags": ["B-NP", "I-NP"]}\n{"words": ["ran"], "tags": ["O"]}\n'
    )
    for path in (columns, objects):
        found = [(sentence.words, sentence.tags) for sentence in read_tagged(path)]
        assert found == [(("the", "dog"), ("B-NP", "I-NP")), (("ran",), ("O",))]


def test_factors_are_read_and_stand_at_all_tokens_of_their_word(tmp_path: Path) -> None:
    columns = written(tmp_path, "a.txt", "dogs NN B-NP\nran VB O\n\n" * 30)
    objects = written(
        tmp_path, "a.jsonl", '{"words": ["dogs", "ran"], "tags": ["B-NP", "O"], "factors": ["NN", "VB"]}\n'
    )
    for path in (columns, objects):
        assert read_tagged(path, factor=2)[0].factors == ("NN", "VB")
    assert factor_column(columns) == 2
    assert factor_column(written(tmp_path, "b.txt", "dogs B-NP\nran O\n\n")) is None
    with pytest.raises(RegardError, match="line 1: has 3 columns, so no factor in column 4"):
        read_tagged(columns, factor=4)
    subwords = learn_subwords(["dogs ran"] * 3, SubwordSettings(kind="character"))
    (tokens, segments), _ = word_row(subwords, ["dogs", "ran"], Frame(), [2, 1])
    assert len(tokens) == len(segments)
    assert sorted(segments[1:-1], reverse=True) == segments[1:-1]
    assert {1, 2} == set(segments[1:-1])
    assert segments[0] == segments[-1] == 0


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.txt", "the DT\ndog\n", "line 2: must be a word and, in the last column, its tag"),
        ("a.txt", "\n", "there are no sentences"),
        ("a.jsonl", '{"words": ["a"]}\n', "line 1: must be a JSON object with the lists words and tags"),
        ("a.jsonl", '{"words": ["a"], "tags": []}\n', "line 1: has 1 word, but 0 tags"),
        ("a.jsonl", '{"words": ["a b"], "tags": ["X"]}\n', "line 1: each word must be a text without spaces"),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(RegardError, match=complaint):
        read_tagged(written(tmp_path, name, text))


def test_a_tag_that_training_did_not_see_has_no_number_and_is_counted() -> None:
    sentences = [TaggedSentence(("a", "b"), ("X", "B"), 3)]
    assert tag_numbers(sentences, ["A", "B"]) == [[NO_TAG, 1]]
    assert unseen_tags(sentences, ["A", "B"]) == {"X": 1}


def test_a_word_is_found_at_its_first_token() -> None:
    subwords = learn_subwords(["hunting dogs hunt"] * 3, SubwordSettings(kind="character"))
    (tokens, _), places = word_row(subwords, ["hunting", "dogs", "hunt"], Frame())
    marks = [at for at, token in enumerate(tokens) if subwords.pieces[token].startswith("▁")]
    assert places == marks
    _, cut = word_row(subwords, ["hunting", "dogs", "hunt"], Frame(longest=12))
    assert cut[0] == marks[0]
    assert cut[2] is None


def test_batches_keep_tags_at_their_words() -> None:
    rows = [([2, *[5] * length, 3], [0] * (length + 2)) for length in (1, 4, 2, 3)]
    tags = [[NO_TAG, *[length] * length, NO_TAG] for length in (1, 4, 2, 3)]
    lengths = np.array([len(row) for row, _ in rows], dtype=np.int32)
    made = TaggedRows(rows, tags, BatchPlan(lengths, lengths, BatchSettings(tokens=100)))
    item = made.at(BatchPosition())
    assert item.count == made.epoch()[1] == 10
    for share in [item, *item.shares(2)]:
        assert ((share.tags != NO_TAG).sum(1) == share.texts.lengths - 2).all()
        assert (share.tags.max(1).values == share.texts.lengths - 2).all()
    assert sum(share.count for share in item.shares(3)) == 10
