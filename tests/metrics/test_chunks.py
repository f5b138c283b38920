import pytest

from regard.metrics.chunks import chunk_f1, chunks, is_chunked


def test_chunks_by_their_kind_and_ends() -> None:
    assert chunks("B-NP I-NP O B-VP".split()) == {("NP", 0, 1), ("VP", 3, 3)}
    assert chunks("B-NP B-NP I-NP".split()) == {("NP", 0, 0), ("NP", 1, 2)}
    assert chunks("O I-NP I-VP I-VP".split()) == {("NP", 1, 1), ("VP", 2, 3)}
    assert chunks("O O".split()) == set()


def test_f1_counts_whole_chunks() -> None:
    true = ["B-NP I-NP O B-VP".split(), "B-NP".split()]
    found = ["B-NP O O B-VP".split(), "B-NP".split()]
    assert chunk_f1(true, found) == pytest.approx(2 * 2 / 6)
    assert chunk_f1(true, true) == 1.0


def test_tags_of_chunks_are_known_by_their_letters() -> None:
    assert is_chunked(["O", "B-NP", "I-NP"])
    assert not is_chunked(["NN", "VB"])
    assert not is_chunked(["O"])
