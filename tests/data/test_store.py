"""What was encoded comes back, is made again when its origins change, and is never trusted when damaged."""

import errno
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.base.errors import ConfigError, RegardError
from regard.data import store as module
from regard.data.corpus import Corpus, Counts, open_corpus
from regard.data.store import Store, build_store, open_store
from regard.data.subwords.tokenizer import EOS, SubwordPair, Subwords
from tests.data.examples import LINES, pair, subwords


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "a").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "b").write_text("\n".join(reversed(LINES)) + "\n", encoding="utf-8")
    return open_corpus(tmp_path / "a", tmp_path / "b")


def ids(store: Store) -> list[tuple[list[int], ...]]:
    return [tuple(side.tolist() for side in store[at]) for at in range(len(store))]


def stamp(folder: Path) -> int:
    return (folder / "store.json").stat().st_ino


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


sentences = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\ufeff"), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(rows=st.lists(st.tuples(sentences, sentences), min_size=1, max_size=9), chunk=st.integers(1, 4))
def test_every_pair_comes_back(
    rows: list[tuple[str, str]], chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LINES", chunk)
    rows = [("dog", "Hund"), *rows]
    for side, name in enumerate("ab"):
        (tmp_path / name).write_text("".join(f"{row[side]}\n" for row in rows), encoding="utf-8", newline="")
    corpus = open_corpus(tmp_path / "a", tmp_path / "b")
    store = build_store(tmp_path / "store", corpus, pair())
    kept = list(corpus.pairs())
    assert ids(store) == [tuple([*subwords().encode(text), EOS] for text in row[:2]) for row in kept]
    assert store.counts == Counts(**vars(store.counts))
    assert store.counts.kept == len(kept) == len(store)
    for side, tokens in enumerate(store.sides):
        assert tokens.lengths.tolist() == [len(row[side]) for row in ids(store)]


def test_a_store_is_reused_while_nothing_changed(corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "s" / "store"
    first = ids(build_store(folder, corpus, pair()))
    made = stamp(folder)
    os.utime(corpus.files[0])
    again = build_store(folder, corpus, SubwordPair.from_json(pair().to_json()))
    assert ids(again) == first
    assert stamp(folder) == made
    assert names(folder.parent) == ["store"]


def test_a_store_is_made_again_when_its_origins_change(corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    build_store(folder, corpus, pair())
    keys = [(folder / "store.json").read_text()]
    text = corpus.files[0].read_text(encoding="utf-8")
    facts = corpus.files[0].stat()
    corpus.files[0].write_text(text.replace("dog", "god"), encoding="utf-8")
    os.utime(corpus.files[0], ns=(facts.st_atime_ns, facts.st_mtime_ns))
    changed = build_store(folder, corpus, pair())
    keys.append((folder / "store.json").read_text())
    assert subwords().decode(changed[0][0]) == LINES[0].replace("dog", "god")
    other = build_store(folder, corpus, pair("unigram"))
    keys.append((folder / "store.json").read_text())
    assert other[0][0].tolist() == [*subwords("unigram").encode(LINES[0].replace("dog", "god")), EOS]
    assert len(set(keys)) == 3
    assert names(tmp_path) == ["a", "b", "store"]


@pytest.mark.parametrize("name", ["side0.tokens", "side1.tokens", "side0.offsets", "side1.offsets", "store.json"])
@pytest.mark.parametrize("damage", ["cut", "gone", "longer"])
def test_a_damaged_store_is_found_and_made_again(name: str, damage: str, corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    good = ids(build_store(folder, corpus, pair()))
    path = folder / name
    data = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:-2] if damage == "cut" else data + b"}}")
    with pytest.raises(RegardError, match=name):
        open_store(folder)
    said: list[str] = []
    assert ids(build_store(folder, corpus, pair(), said.append)) == good
    assert [name in line and line.endswith("; it is made again") for line in said] == [True] * (
        (damage, name) != ("gone", "store.json")
    )


@pytest.mark.parametrize("name", ["side0.tokens", "side1.offsets", "store.json"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(data=st.data())
def test_a_changed_bit_is_found_and_the_store_made_again(
    name: str, data: st.DataObject, corpus: Corpus, tmp_path: Path
) -> None:
    good, path = ids(build_store(tmp_path / "store", corpus, pair())), tmp_path / "store" / name
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(content))
    said: list[str] = []
    assert ids(build_store(tmp_path / "store", corpus, pair(), said.append)) == good
    assert len(said) <= 1
    assert not said or name in said[0]
    assert said or name == "store.json"  # a space may be another one


def test_somebody_elses_folder_is_not_replaced(corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1").write_text("years of work")
    with pytest.raises(RegardError, match="thesis: holds something that is not a store"):
        build_store(folder, corpus, pair())
    assert names(folder) == ["chapter1"]
    (folder / "chapter1").unlink()
    assert len(build_store(folder, corpus, pair())) == len(LINES)


def test_a_failure_leaves_the_old_store(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "store"
    build_store(folder, corpus, pair())
    made = stamp(folder)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RegardError, match="store: cannot be written: no space left on device"):
            build_store(folder, corpus, pair("unigram"))
    corpus.files[1].write_text("only one line\n")
    with pytest.raises(RegardError, match=r"has 18 lines but .* has 1"):
        build_store(folder, corpus, pair())
    assert stamp(folder) == made
    assert names(tmp_path) == ["a", "b", "store"]


def test_text_that_changes_meanwhile_is_refused(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = Subwords.encode_batch

    def meddle(self: Subwords, texts: list[str]) -> list[list[int]]:
        corpus.files[0].write_text("other\n" * len(LINES))
        return encode(self, texts)

    monkeypatch.setattr(Subwords, "encode_batch", meddle)
    with pytest.raises(RegardError, match="changed while it was being encoded"):
        build_store(tmp_path / "store", corpus, pair())
    assert not (tmp_path / "store").exists()


def test_one_side_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("the dogs\n\nthe men\n")
    store = build_store(tmp_path / "store", open_corpus(tmp_path / "a"), subwords())
    expected = [[*subwords().encode(text), EOS] for text in ("the dogs", "the men")]
    assert ids(store) == [(row,) for row in expected]
    assert store.sides[0].flat[:].tolist() == [*expected[0], *expected[1]]
    assert str(store.counts) == "2 of 3 lines; skipped: 1 blank"


def test_sides_must_match(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="2 sides of text, but 1 vocabularies"):
        build_store(tmp_path / "store", corpus, subwords())


def test_nothing_to_learn_from_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\n \n")
    with pytest.raises(RegardError, match="nothing to learn from: 0 of 2 lines; skipped: 2 blank"):
        build_store(tmp_path / "store", open_corpus(tmp_path / "a"), subwords())
    assert names(tmp_path) == ["a"]


def test_a_large_vocabulary_takes_wider_numbers(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Subwords, "__len__", lambda _: 2**16 + 1)
    wide = build_store(tmp_path / "wide", corpus, pair())
    assert wide.sides[0].flat.dtype == np.uint32
    monkeypatch.undo()
    narrow = build_store(tmp_path / "narrow", corpus, pair())
    assert narrow.sides[0].flat.dtype == np.uint16
    assert ids(wide) == ids(narrow)


def test_tokens_are_read_in_slices(corpus: Corpus, tmp_path: Path) -> None:
    store = build_store(tmp_path / "store", corpus, pair())
    flat = store.sides[0].flat
    whole = [number for row in ids(store) for number in row[0]]
    assert flat[:].tolist() == whole
    assert len(flat) == len(whole)
    assert flat[3:9].tolist() == whole[3:9]
    assert flat[5:5].tolist() == flat[9:3].tolist() == []


def test_a_file_that_shrinks_in_use_is_named(corpus: Corpus, tmp_path: Path) -> None:
    store = build_store(tmp_path / "store", corpus, pair())
    os.truncate(tmp_path / "store" / "side0.tokens", 4)
    with pytest.raises(RegardError, match=r"side0\.tokens: the file became shorter"):
        store[1]


def test_threads_may_read_at_once(corpus: Corpus, tmp_path: Path) -> None:
    store = build_store(tmp_path / "store", corpus, pair())
    before = ids(store)
    with ThreadPoolExecutor(4) as threads:
        found = threads.map(lambda _: ids(store), range(20))
    assert all(one == before for one in found)


def test_positions_outside_are_an_error(corpus: Corpus, tmp_path: Path) -> None:
    store = build_store(tmp_path / "store", corpus, pair())
    for at in (-1, len(store)):
        with pytest.raises(IndexError, match=f"sentence {at} of 18"):
            store[at]


def test_a_store_can_be_moved(corpus: Corpus, tmp_path: Path) -> None:
    before = ids(build_store(tmp_path / "store", corpus, pair()))
    shutil.move(tmp_path / "store", tmp_path / "moved")
    assert ids(open_store(tmp_path / "moved")) == before
