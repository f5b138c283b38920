"""Every fault in a corpus is found while it is read, and says where it is."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.base.errors import ConfigError, RegardError
from regard.data.corpus import Corpus, Counts, Line, SentencePair, Texts, open_corpus, text_hash
from regard.data.formats.jsonl import Jsonl
from regard.data.formats.tsv import Tsv


def put(path: Path, text: str, packed: bool = False) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return path


def parallel(folder: Path, source: str, target: str, **how: str) -> Corpus:
    return open_corpus(put(folder / "a.en", source), put(folder / "a.de", target), **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_pairs(packed: bool, tmp_path: Path) -> None:
    end = ".gz" if packed else ""
    rows = [("a b", "x"), ("c\u2028", "y z")]
    one, two = (put(tmp_path / f"{side}{end}", "\n".join(t[side] for t in rows), packed) for side in (0, 1))
    tsv = put(tmp_path / f"p.tsv{end}", "".join(f"{a}\t{b}\r\n" for a, b in rows), packed)
    lines = [json.dumps({"en": a, "de": b, "more": 1}, ensure_ascii=False) for a, b in rows]
    jsonl = put(tmp_path / f"p.jsonl{end}", "\n".join(lines), packed)
    expected = [SentencePair("a b", "x", 1), SentencePair("c\u2028", "y z", 2)]
    for corpus in (open_corpus(one, two), open_corpus(tsv), open_corpus(jsonl, format=Jsonl(keys=("en", "de")))):
        assert list(corpus.pairs()) == expected


def test_one_side_alone(tmp_path: Path) -> None:
    text = open_corpus(put(tmp_path / "a.txt", "one\n\ntwo\n"))
    assert list(text.lines(counts := Counts())) == [Line("one", 1), Line("two", 3)]
    assert str(counts) == "2 of 3 lines; skipped: 1 blank"
    records = open_corpus(put(tmp_path / "a.jsonl", '{"text": "one"}\n'))
    assert list(records.lines()) == [Line("one", 1)]
    with pytest.raises(ConfigError, match="this corpus has one side"):
        list(text.pairs())
    with pytest.raises(ConfigError, match="this corpus has two sides"):
        list(open_corpus(tmp_path / "a.tsv", format=Tsv()).lines())


@pytest.mark.parametrize(("source", "target", "counts"), [("a\nb\nc\n", "x\n", "3.*1"), ("a", "x\ny", "1.*2")])
def test_unequal_line_counts_name_both(source: str, target: str, counts: str, tmp_path: Path) -> None:
    first, second = counts.split(".*")
    with pytest.raises(RegardError, match=rf"a\.en has {first} lines? but .*a\.de has {second};"):
        list(parallel(tmp_path, source, target).pairs())


def test_blank_sides_are_skipped_and_counted(tmp_path: Path) -> None:
    corpus = parallel(tmp_path, "a\n\n \nd\n\ne\n", "x\ny\n\n\t\nz\nw\n")
    counts = Counts()
    assert [pair.line for pair in corpus.pairs(counts)] == [1, 6]
    assert counts == Counts(read=6, kept=2, blank=1, blank_source=2, blank_target=1)
    assert str(counts) == "2 of 6 lines; skipped: 1 blank, 2 without a source, 1 without a target"


def test_what_cannot_be_seen_is_blank(tmp_path: Path) -> None:
    counts = Counts()
    pairs = parallel(tmp_path, "a\nb\nc\n", "x\n \u200b\u00a0\n\ufeff\n").pairs(counts)
    assert [pair.source for pair in pairs] == ["a"]
    assert counts.blank_target == 2


def test_blank_sides_can_be_an_error(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"a\.de, line 2: the line is blank"):
        list(parallel(tmp_path, "a\nb\n", "x\n \n", blanks="error").pairs())
    jsonl = put(tmp_path / "p.jsonl", '{"source": "a", "target": ""}')
    with pytest.raises(RegardError, match=r"p\.jsonl, line 1, target: the line is blank"):
        list(open_corpus(jsonl, blanks="error").pairs())


FAULTS = {
    "p.tsv": {
        "a\tb\na": "line 2: has 1 column, but line 1 has 2",
        "a\tb\tc": "3 columns do not tell which are source and target",
    },
    "p.jsonl": {
        '{"source": "a", "target": "b"}\n{"source": ': "line 2: not a JSON object",
        "[1]": "line 1: not a JSON object",
        '{"source": "a"}': r"line 1: 'target' must be a text, but is missing from source",
        '{"source": "a", "target": 3}': "line 1: 'target' must be a text, but is a number",
    },
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in FAULTS.items() for text in texts])
def test_a_malformed_line_is_named(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=FAULTS[name][text]):
        list(open_corpus(put(tmp_path / name, text)).pairs())


def test_broken_utf8_is_named(tmp_path: Path) -> None:
    corpus = parallel(tmp_path, "a\nb\n", "x\ny\n")
    (tmp_path / "a.de").write_bytes(b"x\n\xff\n")
    with pytest.raises(RegardError, match=r"a\.de, line 2: byte 0xff"):
        list(corpus.pairs())


def test_reading_stays_within_a_line(tmp_path: Path) -> None:
    corpus = parallel(tmp_path, "a\nb\n", "x\n")
    assert next(corpus.pairs()) == SentencePair("a", "x", 1)  # the fault at the end has not been reached


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="tsv takes at most 1 files, not 2"):
        Corpus(files=(tmp_path, tmp_path), format=Tsv())


def test_the_fingerprint_follows_content_and_reading(tmp_path: Path) -> None:
    corpus = parallel(tmp_path, "a\n", "x\n")
    before = corpus.fingerprint()
    assert parallel(tmp_path, "a\n", "x\n").fingerprint() == before
    assert parallel(tmp_path, "a\n", "x\n", blanks="error").fingerprint() != before
    assert parallel(tmp_path, "x\n", "a\n").fingerprint() != before
    assert parallel(tmp_path, "a\n", "y\n").fingerprint() != before


def test_fingerprints_of_older_runs_are_kept(tmp_path: Path) -> None:
    text = parallel(tmp_path, "a\n", "x\n")
    tsv = open_corpus(put(tmp_path / "a.tsv", "a\tb\n"))
    records = open_corpus(put(tmp_path / "a.jsonl", '{"en": "a", "de": "b"}\n'))
    for name, words, corpus in (
        ("text", ("source", "target"), text),
        ("tsv", ("source", "target"), tsv),
        ("jsonl", ("en", "de"), records),
    ):
        digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in corpus.files]
        expected = hashlib.sha256("\n".join([name, *words, "skip", *digests]).encode()).hexdigest()
        assert corpus.fingerprint() == expected


def test_what_is_held_out_is_left_out_of_training(tmp_path: Path) -> None:
    put(tmp_path / "dev.tsv", "B  b\tY\n")
    dev = open_corpus(tmp_path / "dev.tsv")
    train = open_corpus(put(tmp_path / "train.tsv", "a\tx\nb B\tz\nc\ty\nd\tw\n"))
    counts = Counts()
    kept = Corpus(files=train.files, format=train.format, without=(dev,))
    assert [pair.line for pair in kept.pairs(counts)] == [1, 4]
    assert str(counts) == "2 of 4 lines; skipped: 2 held out"
    sources = Corpus(files=train.files, format=train.format, without=(dev,), leaks="source")
    assert [pair.line for pair in sources.pairs()] == [1, 3, 4]
    assert len({train.fingerprint(), kept.fingerprint(), sources.fingerprint()}) == 3


def test_hashes_ignore_case_and_white_space() -> None:
    assert text_hash(" A\u00a0b ") == text_hash("a B")
    assert text_hash("ab") != text_hash("a b")


def test_texts_can_be_read_again(tmp_path: Path) -> None:
    texts = Texts(parallel(tmp_path, "a\nb\nc\n", "x\ny\nz\n"), limit=2)
    assert list(texts) == list(texts) == ["a", "x", "b", "y"]
    assert list(Texts(texts.corpus, (1,))) == ["x", "y", "z"]


sentences = st.text(st.characters(exclude_characters="\n\r\ufeff", codec="utf-8"), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(rows=st.lists(st.tuples(sentences, sentences), min_size=1))
def test_every_line_is_kept_or_counted(rows: list[tuple[str, str]], tmp_path: Path) -> None:
    text = ["".join(f"{row[side]}\n" for row in rows) for side in (0, 1)]
    counts = Counts()
    pairs = list(parallel(tmp_path, *text).pairs(counts))
    assert [tuple(pair[:2]) for pair in pairs] == [row for row in rows if all(side.strip() for side in row)]
    assert counts.read == len(rows) == counts.kept + counts.blank + counts.blank_source + counts.blank_target
