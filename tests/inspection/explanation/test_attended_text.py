import pytest
import torch

from regard.attention.record import record
from regard.base.errors import UsageError
from regard.decoding.classifier import Classifier
from regard.inspection.explanation.attended_text import attend_to_texts
from tests.decoding.readers import reader, vocabulary


def test_the_weights_are_those_that_record_gives() -> None:
    classifier = Classifier(reader(classes=2), vocabulary(), ["a", "b"], texts=2)
    seen = attend_to_texts(classifier, ["the cat", "a dog"])
    assert [token.text for token in seen.tokens] == ["▸", "the", "cat", "⏎", "a", "dog", "⏎"]
    with torch.no_grad(), record(classifier.model.eval()) as recorded:
        classifier.classify([["the cat", "a dog"]])
    torch.testing.assert_close(seen.layers[0].weights, recorded.only()[0])
    assert seen.to_dict()["layers"][0]["heads"][0].keys() == {"entropy", "weights", "moved"}


def test_an_example_is_one_text_or_two() -> None:
    classifier = Classifier(reader(classes=2), vocabulary(), ["a", "b"])
    with pytest.raises(UsageError, match="one text, or two, but here are 3"):
        attend_to_texts(classifier, ["a", "b", "c"])
