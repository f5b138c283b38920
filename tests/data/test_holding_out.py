"""Dev and test sets are split off without leaks, and always the same."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.data.corpus import Corpus, open_corpus, text_hash
from regard.data.formats.tsv import Tsv
from regard.data.holding_out import HeldOut, held_out_size, hold_out


def corpus_of(folder: Path, rows: list[tuple[str, str]]) -> Corpus:
    path = folder / "a.tsv"
    path.write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
    return open_corpus(path, format=Tsv())


def training(corpus: Corpus, held_out: HeldOut, folder: Path) -> list[tuple[str, ...]]:
    """What is left to train on."""
    path = folder / "held.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in (*held_out.dev, *held_out.test)), encoding="utf-8")
    return list(replace(corpus, without=(open_corpus(path, format=Tsv()),), leaks=held_out.leaks).rows())


@pytest.mark.parametrize(
    ("lines", "size"),
    [(5, 0), (20, 2), (50, 5), (200, 20), (400, 20), (1_000, 50), (40_000, 2_000), (9_999_999, 2_000)],
)
def test_sizes_follow_the_corpus(lines: int, size: int) -> None:
    assert held_out_size(lines) == size


def test_fifty_lines_give_five_and_five(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [(f"source {at}", f"target {at}") for at in range(50)])
    found = hold_out(corpus)
    assert found is not None
    assert (len(found.dev), len(found.test), found.by, found.leaks) == (5, 5, "line", "either")
    assert len(training(corpus, found, tmp_path)) == 40
    assert hold_out(corpus) == found
    assert hold_out(corpus, size=0) is None
    assert hold_out(corpus, size=25) is None


def test_the_choice_does_not_depend_on_the_order_of_the_lines(tmp_path: Path) -> None:
    rows = [(f"source {at}", f"target {at}") for at in range(200)]
    first = hold_out(corpus_of(tmp_path, rows))
    random.Random(1).shuffle(rows)
    second = hold_out(corpus_of(tmp_path, rows))
    assert first is not None
    assert second is not None
    assert (set(first.dev), set(first.test)) == (set(second.dev), set(second.test))


few = st.integers(0, 60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(pairs=st.lists(st.tuples(few, few), min_size=20, max_size=120))
def test_no_text_is_on_two_sides(pairs: list[tuple[int, int]], tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [(f"S  {one}" if one % 2 else f"s {one}", f"t{other}") for one, other in pairs])
    found = hold_out(corpus)
    if found is None:
        return
    parts = [found.dev, found.test, training(corpus, found, tmp_path)]
    for side in range(1 if found.leaks == "source" else 2):
        seen = [{text_hash(row[side]) for row in part} for part in parts]
        assert not seen[0] & seen[1]
        assert not (seen[0] | seen[1]) & seen[2]
    if found.leaks == "either":
        assert sum(map(len, parts)) == len(pairs)  # groups are whole, so nothing is lost


def test_few_targets_are_told_apart_by_their_sources(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path, [(f"word {at}", f"class {at % 3}") for at in range(300)])
    found = hold_out(corpus)
    assert found is not None
    assert (found.leaks, len(found.dev), len(found.test)) == ("source", 20, 20)
    assert len(training(corpus, found, tmp_path)) == 260


def test_documents_are_held_out_whole(tmp_path: Path) -> None:
    lines = [f"document {at // 10} line {at % 10}" + ("\n" if at % 10 == 9 else "") for at in range(400)]
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("\n".join(f"{line}" for line in lines), encoding="utf-8")
    found = hold_out(open_corpus(tmp_path / "a.en", tmp_path / "a.de"))
    assert found is not None
    assert found.by == "document"
    for part in (found.dev, found.test):
        assert len(part) == 20
        assert len({row[0].split()[1] for row in part}) == 2


@pytest.mark.parametrize(
    ("lengths", "by", "size"),
    [
        ([2_000, *[10] * 40], "document", 120),  # a book among letters stays whole, in training
        ([100] * 12, "line", 60),  # chapters, each of them longer than a held-out set
        ([400, 400, 400, *[2] * 20], "line", 62),  # too little would be left to measure by
    ],
)
def test_documents_longer_than_a_held_out_set_are_left_to_training(
    lengths: list[int], by: str, size: int, tmp_path: Path
) -> None:
    rows = [
        f"{name}\tsource {name} {at}\ttarget {name} {at}" for name, lines in enumerate(lengths) for at in range(lines)
    ]
    path = tmp_path / "a.tsv"
    path.write_text("doc\ten\tde\n" + "\n".join(rows), encoding="utf-8")
    found = hold_out(open_corpus(path, format=Tsv(columns=("en", "de"), header=True)), document="doc")
    assert found is not None
    assert (found.by, len(found.dev), len(found.test)) == (by, size, size)


def test_a_column_tells_documents_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    rows = [f"{at // 5}\tsource {at}\ttarget {at}" for at in range(200)]
    path.write_text("doc\ten\tde\n" + "\n".join(rows), encoding="utf-8")
    corpus = open_corpus(path, format=Tsv(columns=("en", "de"), header=True))
    found = hold_out(corpus, document="doc")
    assert found is not None
    assert found.by == "document"
    assert len({int(row[0].split()[1]) // 5 for row in found.dev}) == 4
