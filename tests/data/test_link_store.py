"""Links between words or characters, as links between tokens, on disk."""

import json
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.corpus import Corpus, open_corpus
from regard.data.link_store import LinkUnit, build_links, token_links
from regard.data.store import build_store
from regard.data.subwords.tokenizer import SubwordPair
from tests.data.examples import LINES, pair, subwords

ENGLISH = LINES[0], LINES[1], LINES[4]
GERMAN = LINES[2], LINES[3], LINES[5]


def corpus(folder: Path, sources: tuple[str, ...] = ENGLISH, targets: tuple[str, ...] = GERMAN) -> Corpus:
    for name, lines in (("en", sources), ("de", targets)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return open_corpus(folder / "en", folder / "de")


def links(folder: Path, *lines: str) -> Path:
    (folder / "links").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "links"


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character"])
def test_all_tokens_of_linked_words_are_linked(kind: str, tmp_path: Path) -> None:
    both = pair(kind)
    made = build_links(tmp_path / "store", links(tmp_path, "1-1 2?2 2-3", "", "0-0"), corpus(tmp_path), both)
    assert len(made) == 3
    assert made[1].shape == (0, 2)
    tokens = [list(both.source.encode_with_offsets(text)) for text in (ENGLISH[0], GERMAN[0])]
    expected = {
        (target, source)
        for target, to in enumerate(tokens[1])
        for source, of in enumerate(tokens[0])
        if (of.word, to.word) in {(1, 1), (2, 2), (2, 3)}
    }
    assert {tuple(link) for link in made[0].tolist()} == expected
    assert made[0].tolist() == sorted(made[0].tolist())
    assert {target for target, _ in made[2].tolist()} == {
        at for at, piece in enumerate(both.target.encode_with_offsets(GERMAN[2])) if piece.word == 0
    }


def test_characters_are_linked_where_links_count_characters(tmp_path: Path) -> None:
    one = subwords("character")
    texts = corpus(tmp_path, ("A dog",), ("der Hund",))
    (row,) = token_links(links(tmp_path, "2-4 3-4 0-0"), texts, SubwordPair(one, one), "character")
    read, said = (one.encode_with_offsets(text) for text in ("A dog", "der Hund"))
    named = {(one.pieces[said[target].id], one.pieces[read[source].id]) for target, source in row}
    assert named == {("H", "d"), ("H", "o"), ("d", "A")}  # and never the mark before a word
    assert len(row) == 3


def test_pieces_of_several_characters(tmp_path: Path) -> None:
    texts = corpus(tmp_path)
    (row, *_) = token_links(links(tmp_path, "2-4", "", ""), texts, pair(), "character")
    of = [at for at, piece in enumerate(subwords().encode_with_offsets(ENGLISH[0])) if piece.start <= 2 < piece.end]
    to = [at for at, piece in enumerate(subwords().encode_with_offsets(GERMAN[0])) if piece.start <= 4 < piece.end]
    assert row == [(to[0], of[0])]


def test_lines_that_the_corpus_skips_take_their_links_along(tmp_path: Path) -> None:
    texts = corpus(tmp_path, (ENGLISH[0], "", ENGLISH[1]), (GERMAN[0], "weg", GERMAN[1]))
    made = build_links(tmp_path / "links-store", links(tmp_path, "0-0", "7-7", "1-1"), texts, pair())
    assert len(made) == len(build_store(tmp_path / "store", texts, pair())) == 2
    lone = next(token_links(links(tmp_path, "1-1"), corpus(tmp_path, ENGLISH[1:2], GERMAN[1:2]), pair()))
    assert [tuple(link) for link in made[1].tolist()] == lone


def test_it_is_made_once_while_nothing_changes(tmp_path: Path) -> None:
    texts, file = corpus(tmp_path), links(tmp_path, "0-0", "", "")
    build_links(tmp_path / "store", file, texts, pair())
    key = tmp_path / "store" / "store.json"
    before = key.stat().st_mtime_ns
    build_links(tmp_path / "store", file, texts, pair())
    assert key.stat().st_mtime_ns == before
    links(tmp_path, "0-1", "", "")
    moved = build_links(tmp_path / "store", file, texts, pair())[0]
    assert {pair().target.encode_with_offsets(GERMAN[0])[target].word for target, _ in moved.tolist()} == {1}
    assert key.stat().st_mtime_ns != before
    damaged = json.loads(key.read_text())
    (tmp_path / "store" / "links.tokens").write_bytes(b"")
    build_links(tmp_path / "store", file, texts, pair())
    assert json.loads(key.read_text())["files"] == damaged["files"]


@pytest.mark.parametrize(
    ("lines", "unit", "sentence"),
    [
        (("0-0", ""), "word", r"links: has 2 lines of links, but .*en has 3 lines; line n of the one must link line n"),
        (("0-0", "", "", ""), "word", "links: has 4 lines of links, but .*en has 3 lines"),
        (("0-0", "99-0", ""), "word", "links, line 2: the link 99-0 names source word 99, but there are only 11"),
        (("", "", "0-99"), "word", "links, line 3: the link 0-99 names target word 99, but there are only 12"),
        (("", "", "999-0"), "character", "the link 999-0 names source character 999, but"),
        (("0:0", "", ""), "word", "links, line 1: '0:0' is no link"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    lines: tuple[str, ...], unit: LinkUnit, sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(RegardError, match=sentence):
        build_links(tmp_path / "store", links(tmp_path, *lines), corpus(tmp_path), pair(), unit)
    assert not (tmp_path / "store").exists()
