import pytest
import torch

from regard.base.errors import UsageError
from regard.decoding.filler import Filler

from .readers import reader, vocabulary


@pytest.fixture
def filler() -> Filler:
    return Filler(reader(), vocabulary())


def test_each_hidden_place_gets_its_likeliest_tokens(filler: Filler) -> None:
    text = "the <mask> sat on the [MASK]"
    (places,) = filler.fill([text], count=3)
    assert [len(guesses) for guesses in places] == [3, 3]
    ids = filler.subwords.encode("the cat sat on the mat")
    ids[1] = ids[5] = filler.subwords.mask or 0
    tokens = torch.tensor([[2, *ids, 3]])
    with torch.inference_mode():
        logits = filler.model.output(filler.model.eval()(tokens, torch.tensor([8])))
    expected = logits.softmax(-1)[0, [2, 6]].topk(3)
    assert [[one.id for one in guesses] for guesses in places] == expected.indices.tolist()
    assert [one.probability for one in places[1]] == pytest.approx(expected.values[1].tolist(), rel=1e-5)


def test_a_line_is_printed_with_its_places_filled(filler: Filler) -> None:
    text = "the <mask> sat"
    (one,) = filler.predict([text])
    best = filler.fill([text])[0][0][0]
    assert one.text == f"the {best.text} sat"
    assert one.details["guesses"][0][0] == {"token": best.text, "probability": best.probability}


def test_a_line_without_a_hidden_place_and_one_too_long_are_named(filler: Filler) -> None:
    with pytest.raises(UsageError, match="line 2 has no <mask>"):
        filler.fill(["the <mask>", "the cat"])
    with pytest.raises(UsageError, match="line 1 has 23 tokens, but the model has 16 positions"):
        filler.fill(["<mask> " + "cat " * 20])
