"""Weights between words: put together by hand, for models that read at once and step by step, in any company."""

import numpy as np
import pytest
import torch

from regard.alignment.cross_weights import look
from regard.alignment.head_choice import HeadChoice
from regard.alignment.heads import candidates
from regard.alignment.word_weights import make_pairs, merge, word_weights
from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import words
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator
from tests.alignment.test_cross_weights import DESIGNS, TEXTS, translator


def test_source_tokens_are_summed_and_target_tokens_averaged() -> None:
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.0, 0.9, 0.1, 0.0]])[None, None]
    merged = merge(
        weights, torch.tensor([[[1.0, 0], [1, 0], [0, 1], [0, 0]]]), torch.tensor([[[1.0, 0], [1, 0], [0, 1]]])
    )
    torch.testing.assert_close(merged, torch.tensor([[[[0.45, 0.2], [0.9, 0.1]]]]))


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("shift", [0, 1])
def test_words_got_what_their_tokens_got(name: str, shift: int) -> None:
    model = translator(DESIGNS[name], "character")
    layer = "decoder.layers.1.cross" if name == "transformer" else "decoder.cross"
    choice = HeadChoice(tuple((layer, head) for head in range(2 if name == "transformer" else 1)), shift)
    source, target = "the dog sees", "a cat finds the house"
    (found,) = word_weights(model, make_pairs(model, [source], [target]), [choice])
    token = look(model, source, target).weights[shift:]
    read, said = model.source.encode_with_offsets(source), model.target.encode_with_offsets(target)
    for row in range(5):
        for column in range(3):
            rows = [at for at, piece in enumerate(said) if piece.word == row]
            columns = [at for at, piece in enumerate(read) if piece.word == column]
            assert found[0, row, column] == pytest.approx(token[np.ix_(rows, columns)].sum(1).mean(), abs=1e-5)
    assert (found.sum(2) < 1).all()


@pytest.mark.parametrize("name", DESIGNS)
def test_the_same_weights_in_any_company(name: str) -> None:
    model = translator(DESIGNS[name], "bpe")
    texts = [*TEXTS, "dog", "the cat sees the dog finds the house the cat", "cat the"]
    pairs = make_pairs(model, texts, texts[::-1])
    choices = candidates(model.models[0])
    together = word_weights(model, pairs, choices)
    for pair, own in zip(pairs, together, strict=True):
        assert own.shape == (len(choices), len(words(pair.target)), len(words(pair.source)))
        np.testing.assert_allclose(word_weights(model, [pair], choices)[0], own, atol=1e-5)
    for small, own in zip(word_weights(model, pairs, choices, batch_tokens=12), together, strict=True):
        np.testing.assert_allclose(small, own, atol=1e-5)


def test_each_choice_is_the_mean_of_its_heads() -> None:
    model = translator(DESIGNS["transformer"])
    one, other = (HeadChoice((("decoder.layers.0.cross", head),), 1) for head in (0, 1))
    far = HeadChoice((("decoder.layers.1.cross", 1),), 1)
    mean = HeadChoice((*one.heads, *far.heads), 1)
    (found,) = word_weights(model, make_pairs(model, TEXTS[:1], TEXTS[1:]), [far, mean, other, one])
    np.testing.assert_allclose(found[1], (found[3] + found[0]) / 2, atol=1e-6)
    assert not np.allclose(found[2], found[3])


def test_a_pair_may_be_spelled_in_pieces_that_encoding_would_not_choose_or_be_empty() -> None:
    model = translator(DESIGNS["current"], "character")
    spaced = (model.target.encode("a")[0], *model.target.encode("the"))
    pair = Pair("the dog", tuple(model.source.encode("the dog")), model.target.decode(spaced), spaced)
    empty = Pair("the dog", pair.source_ids, "", ())
    first, second = word_weights(model, [pair, empty], candidates(model.models[0]))
    assert first.shape == (2, len(words(pair.target)), 2)
    assert second.shape == (2, 0, 2)
    assert word_weights(model, [], candidates(model.models[0])) == []


def test_dropout_is_off_while_looking_and_as_before_afterwards() -> None:
    subwords = learn_subwords(TEXTS, SubwordSettings(kind="word", min_count=1))
    design = DESIGNS["transformer"].preset("tiny")
    model = Translator(design.build(dict.fromkeys(design.needs, len(subwords))).train(), subwords, subwords)
    pairs, choices = make_pairs(model, TEXTS, TEXTS), candidates(model.models[0])[:1]
    first, again = (word_weights(model, pairs, choices)[0] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert model.models[0].training


def test_a_layer_that_is_not_there_is_named() -> None:
    model = translator(DESIGNS["current"])
    with pytest.raises(UsageError, match=r"no layer matches 'decoder\.9'"):
        word_weights(model, make_pairs(model, TEXTS, TEXTS), [HeadChoice((("decoder.9", 0),))])
