import pytest
import torch

from regard.base.errors import UsageError
from regard.data.framed import batch_of
from regard.decoding.classifier import Classifier

from .readers import LINES, reader, vocabulary


def test_the_likeliest_label_comes_with_all_probabilities() -> None:
    made = Classifier(reader(classes=3), vocabulary(), ["a", "b", "c"])
    found = made.classify([[line] for line in LINES])
    for line, one in zip(LINES, found, strict=True):
        with torch.inference_mode():
            chances = made.model.eval()(*batch_of([made.frame.row([made.subwords.encode(line)])]).parts)[0].softmax(-1)
        assert list(one.probabilities.values()) == pytest.approx(chances.tolist(), rel=1e-5)
        assert one.labels == (max(one.probabilities, key=lambda label: one.probabilities[label]),)


def test_several_labels_are_those_above_the_threshold() -> None:
    made = Classifier(reader(classes=3), vocabulary(), ["a", "b", "c"], labels="several", threshold=0.4)
    for one in made.classify([[line] for line in LINES]):
        likely = sorted((chance, label) for label, chance in one.probabilities.items() if chance >= 0.4)
        assert one.labels == tuple(label for _, label in reversed(likely))


def test_two_texts_are_split_at_a_tab() -> None:
    made = Classifier(reader(classes=2), vocabulary(), ["a", "b"], texts=2)
    (one,) = made.predict(["the cat\tthe dog"])
    (other,) = made.classify([("the cat", "the dog")])
    assert one.details["probabilities"] == other.probabilities
    assert one.text == f"{other.labels[0]}\t{max(other.probabilities.values()):.4f}"
    with pytest.raises(UsageError, match="line 2 must be two texts, split at a tab, but has 1 column"):
        made.predict(["a\tb", "c"])
    with pytest.raises(UsageError, match="a list of two texts"):
        made.classify(["the cat"])
