"""What is told of one text and its translation agrees with the model's scores and its search."""

import numpy as np
import pytest

from regard.data.subwords.tokenizer import EOS
from regard.decoding.strategies.beam import Beam
from regard.inspection.explanation.forced import ATTENTION_KINDS
from regard.inspection.explanation.looking import OTHERS, FoundTranslation, find_translation, linking_heads, look_into
from regard.markup.document import Keeping
from regard.models.seq2seq import Seq2seq
from tests.inspection.explanation.test_explain import TEXTS, translator


def test_alternatives_are_the_likeliest_other_tokens() -> None:
    model = translator()
    said = model.target.encode("the house finds")
    part = look_into(
        model,
        TEXTS[0],
        FoundTranslation(tuple(said), "the house finds"),
        forced=0,
        before="",
        attention=ATTENTION_KINDS,
    )
    for at, written in enumerate(part.target):
        chances = {}
        for number in range(3, len(model.target)):
            tried = [*said[:at], number]
            scores = model._score_batch([([*model.source.encode(TEXTS[0]), EOS], tried)])[0]
            chances[number] = scores[at]
        own = (*said, EOS)[at]
        assert written.log_probability == pytest.approx(chances.pop(own), abs=1e-4)
        chances.pop(model.target.pieces.index("▁"))  # a lone space can be written, but not chosen
        best = sorted(chances.values(), reverse=True)[:OTHERS]
        np.testing.assert_allclose([other.log_probability for other in written.alternatives], best, atol=1e-4)


def test_the_path_is_that_of_the_search_and_a_given_translation_has_none() -> None:
    model = translator()
    found = find_translation(model, TEXTS[0], [], Beam(size=3, max_length=6))
    assert model.target.decode(found.tokens) == found.text == model.translate([TEXTS[0]])[0].text
    assert len(found.path) >= len(found.tokens)
    given = model.target.encode("the house")
    assert find_translation(model, TEXTS[0], given, None) == (tuple(given), "the house", ())


def test_placeholders_are_kept_as_translate_keeps_them() -> None:
    model = translator()
    model.keeper = Keeping()
    text = "the dog {name} sees"
    found = find_translation(model, text, [], model.strategy)
    assert found.text == model.translate([text])[0].text
    assert "{name}" in found.text
    part = look_into(model, text, found, forced=0, before="", attention=())
    assert "{name}" in part.texts[1].split()


def test_a_model_without_attention_has_no_heads_to_link_with() -> None:
    assert linking_heads(translator(Seq2seq(width=8, attention=None))) is None
    assert linking_heads(translator()) is not None
