"""Another segmentation is another way to write the same text, drawn with the right probabilities from the key alone."""

import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base.errors import ConfigError
from regard.data.subwords import assemble
from regard.data.subwords.resegment import Resegment
from regard.data.subwords.tokenizer import EOS, UNK, Subwords
from tests.data.examples import LINES, subwords

texts = st.text([*sorted(set("".join(LINES))), "漢"])
WAYS = {"bpe": {"dropout": 0.3}, "unigram": {"alpha": 0.3}}


def cutter(kind: str, byte_fallback: bool = False) -> Resegment:
    return Resegment(subwords(kind, byte_fallback), **WAYS[kind])


@given(text=texts | st.sampled_from(LINES), seed=st.integers(0, 2**70), key=st.tuples(st.integers(0), st.integers(0)))
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize("kind", WAYS)
def test_the_text_stays(kind: str, byte_fallback: bool, text: str, seed: int, key: tuple[int, int]) -> None:
    cut = cutter(kind, byte_fallback)
    ids = [*cut.subwords.encode(text), EOS]
    drawn = cut(ids, seed, *key)
    assert cut.subwords.decode(drawn) == cut.subwords.decode(ids)
    assert drawn == cut(ids, seed, *key)
    assert drawn[-1] == EOS
    assert drawn.count(UNK) == ids.count(UNK)


@given(text=texts)
def test_without_dropout_the_segmentation_is_the_usual_one(text: str) -> None:
    ids = subwords().encode(text)
    assert Resegment(subwords(), dropout=0.0)(ids, 1) == ids


def test_with_full_dropout_only_characters_are_left() -> None:
    drawn = Resegment(subwords(), dropout=1.0)(subwords().encode(LINES[0]), 1)
    assert drawn == [subwords().pieces.index(character) for character in "▁" + LINES[0].replace(" ", "▁")]


@given(text=texts)
def test_a_sharp_distribution_draws_a_best_segmentation(text: str) -> None:
    one = subwords("unigram")
    scores = dict(one.model["vocab"])
    ids, drawn = one.encode(text), Resegment(one, alpha=1e5)(one.encode(text), 1)
    totals = [sum(scores[one.pieces[number]] for number in row if number != UNK) for row in (ids, drawn)]
    assert totals[0] == pytest.approx(totals[1], abs=1e-3)


@pytest.mark.parametrize("kind", WAYS)
def test_seed_and_key_each_matter(kind: str) -> None:
    cut = cutter(kind)
    ids = subwords(kind).encode(" ".join(LINES[:6]))
    drawn = {tuple(cut(ids, seed, epoch, pair)) for seed, epoch, pair in product((1, 2), (0, 1), (0, 1, 12))}
    assert len(drawn) == 12


def test_unigram_draws_in_proportion() -> None:
    scores = {"▁": -1.0, "a": -1.5, "b": -2.0, "ab": -2.2, "▁a": -2.4, "▁ab": -3.0}
    one = Subwords(assemble.declare_specials(assemble.blank(assemble.unigram(scores, byte_fallback=False))))
    cut, alpha = Resegment(one, alpha=0.7), 0.7
    ways = [("▁", "a", "b"), ("▁", "ab"), ("▁a", "b"), ("▁ab",)]
    weights = [math.exp(alpha * sum(scores[piece] for piece in way)) for way in ways]
    drawn = Counter(tuple(one.pieces[n] for n in cut(one.encode("ab"), 0, at)) for at in range(8_000))
    assert set(drawn) == set(ways)
    for way, weight in zip(ways, weights, strict=True):
        share = weight / sum(weights)
        assert abs(drawn[way] / 8_000 - share) < 5 * math.sqrt(share * (1 - share) / 8_000)


def test_merges_are_dropped_in_proportion() -> None:
    one = Subwords(
        assemble.declare_specials(assemble.blank(assemble.bpe(["▁", "a", "▁a"], [("▁", "a")], byte_fallback=False)))
    )
    cut = Resegment(one, dropout=0.25)
    whole = sum(len(cut(one.encode("a"), 0, at)) == 1 for at in range(8_000))
    assert abs(whole / 8_000 - 0.75) < 5 * math.sqrt(0.75 * 0.25 / 8_000)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("word", {"dropout": 0.1}, "word pieces have only one segmentation; use bpe or unigram"),
        ("character", {"dropout": 0.1}, "character pieces have only one segmentation"),
        ("bpe", {"alpha": 0.1}, "bpe takes dropout alone, but given is alpha"),
        ("bpe", {}, "bpe takes dropout alone, but given is none"),
        ("unigram", {"alpha": 0.1, "dropout": 0.1}, "unigram takes alpha alone, but given is alpha, dropout"),
        ("bpe", {"dropout": 1.5}, r"dropout must be between 0 and 1, but is 1\.5"),
        ("unigram", {"alpha": 0.0}, r"alpha must be more than 0, but is 0\.0"),
    ],
)
def test_what_does_not_fit_is_named(kind: str, settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Resegment(subwords(kind), **settings)
