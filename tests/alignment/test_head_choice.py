"""Which heads: as a value, as JSON, and where nobody chose."""

import json

import pytest

from regard.alignment.head_choice import HeadChoice, chosen_heads, source_attentions
from regard.base.errors import RegardError, UsageError
from regard.models.seq2seq import Seq2seq
from tests.alignment.test_cross_weights import DESIGNS, translator


def test_a_choice_survives_json_and_reads_well() -> None:
    choice = HeadChoice((("decoder.layers.2.cross", 1),), 1, "gold links", 0.83)
    table = json.loads(json.dumps(choice.to_dict()))
    assert table == {"heads": [["decoder.layers.2.cross", 1]], "shift": 1, "measure": "gold links", "score": 0.83}
    assert HeadChoice.from_dict(table) == choice
    assert str(choice) == "head 2 of layer 3, once the token was read"
    several = HeadChoice((*(("a.cross", head) for head in range(4)), ("b.cross", 0), ("b.cross", 2)))
    assert str(several) == "heads 1–4 of a.cross and heads 1, 3 of b.cross, when the token was predicted"
    assert several.layers == {"a.cross": [0, 1, 2, 3], "b.cross": [0, 2]}


def test_without_a_choice_the_last_layer_but_one_is_taken() -> None:
    model = translator(DESIGNS["transformer"])
    assert chosen_heads(model).heads == (("decoder.layers.0.cross", 0), ("decoder.layers.0.cross", 1))
    assert chosen_heads(translator(DESIGNS["fed"])).heads == (("decoder.cross", 0),)
    assert source_attentions(model.models[0]) == {"decoder.layers.0.cross": 2, "decoder.layers.1.cross": 2}


def test_what_the_model_file_says_is_taken_and_checked() -> None:
    model = translator(DESIGNS["transformer"])
    model.alignment = {"heads": [["decoder.layers.1.cross", 1]], "shift": 1}
    assert chosen_heads(model) == HeadChoice((("decoder.layers.1.cross", 1),), 1)
    model.alignment = {"heads": [["decoder.layers.1.cross", 2]], "shift": 1}
    with pytest.raises(RegardError, match=r"names head 3 of layer 2, which the model does not have"):
        chosen_heads(model)
    for broken in ({}, {"heads": 3, "shift": 0}, {"heads": [["a"]], "shift": 0}):
        model.alignment = broken
        with pytest.raises(RegardError, match="alignment heads cannot be read"):
            chosen_heads(model)


def test_a_model_without_attention_has_none_to_choose() -> None:
    with pytest.raises(UsageError, match="no attention over its source"):
        source_attentions(translator(Seq2seq(width=8, attention=None)).models[0])
