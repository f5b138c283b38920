"""A part as plain JSON."""

import json

import torch

from regard.data.links import Link
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.inspection.explanation.beam_path import Branch
from regard.inspection.explanation.text_part import Layer, ShownAlternative, TextPart, Written
from regard.inspection.explanation.tokens import Token

SUBWORDS = learn_subwords(["ab c"], SubwordSettings(kind="character"))
END = Token("⏎", True)
OTHER = ShownAlternative(Token("c", False), -2.123456, "c")
PART = TextPart(
    source=(Token("a", True, 0), Token("b", True, 1), END),
    target=(Written(Token("c", True, 0), -0.123456, True, (OTHER,)), Written(END, -0.5, False, ())),
    layers=(Layer("cross", torch.tensor([[[1.0, 0.0, 0.0], [0.33333, 0.66667, 0.0]]]), (0.459147,)),),
    score=-0.623456,
    links=(Link(0, 0),),
    path=((Branch(SUBWORDS.pieces.index("c"), 0, None, -0.1, -0.100004, False, True),),),
    texts=("a b", "c"),
    spelling=SUBWORDS,
)


def test_words_are_numbered_from_where_the_part_starts() -> None:
    assert PART.sizes == (2, 1)
    plain = PART.to_dict(5, 7)
    assert [token["word"] for token in plain["source"]] == [5, 6, None]
    assert [token["word"] for token in plain["target"]] == [7, None]


def test_numbers_are_short_and_nothing_is_lost() -> None:
    plain = json.loads(json.dumps(PART.to_dict()))
    assert plain["layers"] == [
        {"name": "cross", "heads": [{"entropy": 0.459, "weights": [[1, 0, 0], [0.333, 0.667, 0]]}]}
    ]
    assert plain["target"][0]["log_probability"] == -0.1235
    assert plain["target"][0]["forced"]
    assert plain["target"][0]["alternatives"] == [
        {"text": "c", "starts": False, "log_probability": -2.1235, "prefix": "c"}
    ]
    [[branch]] = plain["path"]
    assert (branch["text"], branch["becomes"], branch["chosen"], branch["score"]) == ("c", None, True, -0.1)


def test_a_part_that_was_only_translated_is_its_texts() -> None:
    plain = TextPart(("a b", "c"), -1.0).to_dict(gaps=("\n", " "))
    assert plain["texts"] == {"source": "a b", "target": "c"}
    assert plain["gaps"] == {"source": "\n", "target": " "}
    assert plain["source"] == plain["target"] == plain["layers"] == plain["path"] == []
