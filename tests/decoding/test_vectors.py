"""Vectors of texts and nodes, pooled as the formulas say, whatever else is in the batch."""

from typing import Any

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.framed import batch_of
from regard.decoding.classifier import Classifier
from regard.decoding.filler import Filler
from regard.decoding.vectors import Embeds, check_finite, nearest_rows, pooling_named, unit, vectors_of

from .readers import LINES, reader, vocabulary


def made(**settings: Any) -> Filler:
    return Filler(reader(), vocabulary(), **settings)


def features(filler: Filler, line: str) -> torch.Tensor:
    """The features of a line by itself, without padding."""
    with torch.no_grad():
        return filler.model.eval().encode(*batch_of(filler.frame.rows(filler.subwords, [[line]])).parts)[0][0]


@pytest.mark.parametrize("tokens", [1, 1000])
def test_pooling_by_the_formulas(tokens: int) -> None:
    filler = made(batch_tokens=tokens)
    for pooling, expected in (
        ("mean", lambda x: x.mean(0)),
        ("first", lambda x: x[0]),
        ("max", lambda x: x.max(0).values),
    ):
        got = filler.embed(LINES, pooling=pooling)
        wanted = np.stack([expected(features(filler, line)).numpy() for line in LINES])
        np.testing.assert_allclose(got, wanted, atol=1e-5)
        assert got.dtype == np.float32
    lengths = np.linalg.norm(filler.embed(LINES, normalize=True), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-6)


def test_a_head_says_how_it_pools() -> None:
    assert made().pooling == "mean"
    classifier = Classifier(reader(classes=2), vocabulary(), ["a", "b"])
    assert classifier.pooling == "first"
    np.testing.assert_array_equal(classifier.embed(LINES), classifier.embed(LINES, pooling="first"))


def test_the_last_layer_is_what_embed_gives() -> None:
    filler = made()
    layers = filler.embed_layers(LINES)
    assert len(layers) == 1
    np.testing.assert_allclose(layers[-1], filler.embed(LINES), atol=1e-6)


def test_pairs_and_white_space() -> None:
    filler = made()
    assert filler.embed([("the cat", "a dog"), "the cat"]).shape == (2, 16)
    np.testing.assert_array_equal(filler.embed(["  the cat "]), filler.embed(["the cat"]))


@pytest.mark.parametrize(("inputs", "words"), [
    ("the cat", "give a list of inputs, not one text"),
    ([], "there is nothing to embed"),
    ([("a", "b", "c")], "input 1 must be a text, or a pair of texts"),
    (["a", 7], "input 2 must be a text"),
])  # fmt: skip
def test_other_inputs_are_refused(inputs: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        made().embed(inputs)


def test_an_unknown_pooling_is_refused() -> None:
    with pytest.raises(RegardError, match="unknown 'last'; choices are: first, max, mean"):
        pooling_named("last")
    assert (pooling_named("max"), pooling_named(None)) == ("max", None)


def test_features_that_are_not_finite_are_refused() -> None:
    filler = made()
    with torch.no_grad():
        filler.model.norm.weight[3] = float("nan")
    with pytest.raises(RegardError, match="3 of 3 vectors hold NaN or infinity, first that of input 1"):
        filler.embed(LINES)
    with pytest.raises(RegardError, match="here: 1 of 2 vectors"):
        check_finite(np.array([[1.0], [np.inf]]), "here")


def test_what_gives_no_vectors_is_refused() -> None:
    assert isinstance(vectors_of(made(), "x"), Embeds)
    with pytest.raises(UsageError, match="model: a int, which gives no features"):
        vectors_of(3, "model")


def test_the_nearest_come_first() -> None:
    rows = unit(np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=np.float32))
    places, cosines = nearest_rows(unit(np.array([[1, 0.1]], dtype=np.float32)), rows, 3)
    assert places.tolist() == [[0, 2, 1]]
    np.testing.assert_allclose(cosines[0], [1 / 1.01**0.5, 1.1 / (2 * 1.01) ** 0.5, 0.1 / 1.01**0.5], rtol=1e-5)
