"""Several heads answer side by side."""

from collections.abc import Sequence
from typing import Any

import pytest

from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.multitasker import Multitasker
from regard.decoding.predictor import Prediction, Predictor, TextReader
from regard.models.bert import Bert


class Echo(Predictor):
    """Answers with the line itself."""

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        return [Prediction(f"{line}\t0.5", {"said": line}) for line in lines]


def test_answers_stand_side_by_side() -> None:
    subwords = learn_subwords(["a dog"], SubwordSettings(kind="word", min_count=1))
    model: Any = Bert(layers=1, width=8, heads=1).build({"text": len(subwords), "one.tags": 2, "two.classes": 3})
    heads = {name: Echo(model.one_head(name), subwords) for name in ("two", "one")}
    opened = Multitasker(heads, TextReader(model, subwords))
    (answer,) = opened.predict(["a dog"])
    assert answer.text == "a dog\ta dog" and list(answer.details) == ["two", "one"]
    assert answer.details["one"] == {"said": "a dog"}
    assert opened.embed(["a dog"]).shape == (1, 8) and opened.head("one") is heads["one"]
    with pytest.raises(UsageError, match="unknown 'three'"):
        opened.head("three")
