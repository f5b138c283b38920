"""What a model looked at while it wrote."""

import numpy as np
import pytest

from regard.alignment.cross_weights import look
from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.translator import Translator
from regard.layers.reader import SingleHead
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer

TEXTS = ["the dog sees the cat", "the cat finds the house"]
DESIGNS = {
    "current": Seq2seq(width=8),
    "previous": Seq2seq(width=8, query="previous", context="both", attention=SingleHead(score="additive")),
    "fed": Seq2seq(width=8, cell="lstm", feeding="output"),
    "transformer": Transformer(width=8, heads=2, feedforward=8, encoder_layers=1, decoder_layers=2),
}


def translator(design: Seq2seq | Transformer, kind: str = "word") -> Translator:
    subwords = learn_subwords(TEXTS, SubwordSettings(kind=kind, min_count=1))
    return Translator(design.build(dict.fromkeys(design.needs, len(subwords))).eval(), subwords, subwords)


@pytest.mark.parametrize("name", DESIGNS)
def test_every_row_is_a_target_token_and_shares_one_look(name: str) -> None:
    looked = look(translator(DESIGNS[name]), "the dog sees the cat", "the house finds")
    assert looked.source == ("the", "dog", "sees", "the", "cat", "⏎")
    assert looked.target == ("the", "house", "finds", "⏎")
    assert looked.weights.shape == (4, 6)
    assert (looked.weights >= 0).all()
    np.testing.assert_allclose(looked.weights.sum(1), 1, atol=1e-5)
    assert len(np.unique(looked.weights.round(6), axis=0)) == 4


@pytest.mark.parametrize("name", DESIGNS)
def test_what_was_looked_at_does_not_depend_on_what_comes_later(name: str) -> None:
    model = translator(DESIGNS[name])
    short, long = look(model, TEXTS[0], "the house"), look(model, TEXTS[0], "the house finds the dog")
    np.testing.assert_allclose(short.weights[:2], long.weights[:2], atol=1e-5)


def test_characters_are_shown_with_their_spaces() -> None:
    looked = look(translator(Seq2seq(width=8), "character"), "the dog", "a cat")
    assert len(looked.source) == looked.weights.shape[1]
    assert "".join(looked.source).replace("␣", " ").strip() == "the dog⏎"


def test_a_layer_may_be_named() -> None:
    model = translator(DESIGNS["transformer"])
    last, first = look(model, *TEXTS), look(model, *TEXTS, layer="decoder.layers.0.cross")
    assert first.weights.shape == last.weights.shape
    assert not np.allclose(first.weights, last.weights)
    np.testing.assert_array_equal(look(model, *TEXTS, layer="decoder.layers.1.cross").weights, last.weights)
    with pytest.raises(UsageError, match=r"no layer matches 'decoder\.7'; the model's are: "):
        look(model, *TEXTS, layer="decoder.7")


def test_a_model_without_attention_looks_at_nothing() -> None:
    with pytest.raises(UsageError, match="the model has no attention over its source"):
        look(translator(Seq2seq(width=8, attention=None)), *TEXTS)
