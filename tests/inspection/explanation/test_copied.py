"""Which words were copied, and from where."""

import json

import pytest
import torch

from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translator import Translator
from regard.inspection.explanation.copied import Copied, mean_of
from regard.inspection.explanation.explain import explain
from regard.inspection.explanation.forced import force
from regard.layers.pointer_generator import Copying
from regard.models.seq2seq import Seq2seq

LINES = ["the dog sees the cat", "a cat and a house"]
TEXT = "the Ω dog Ω"


def model(gate: float = 0.0, copy: Copying | None = None) -> Translator:
    torch.manual_seed(1)
    known = learn_subwords(LINES, SubwordSettings(kind="word", min_count=1))
    built = Seq2seq(width=8, copy=copy or Copying()).build({"source": len(known), "target": len(known)})
    with torch.no_grad():
        built.output.gate.bias.fill_(gate)
    return Translator(built, known, known, Greedy(max_length=4))


def test_shares_are_parts_of_the_probability() -> None:
    opened = model()
    known = opened.opened(TEXT).source
    read, said = [*known.encode(TEXT), 3], [*known.encode("Ω cat dog"), 3]
    seen = force(opened.models, read, said)
    with torch.no_grad():
        output = opened.models[0].output
        target = torch.tensor([[2, *said[:-1]]])
        mixed = output.mixture(opened.models[0].hidden(torch.tensor([read]), torch.tensor([len(read)]), target)[0])
    for at, copied in enumerate(seen.copies):
        chance = seen.log_probabilities[at, said[at]].exp().item()
        gate = mixed.gate[at, 0].sigmoid().item()
        parts = {
            j: (1 - gate) * mixed.weights[at, j].item() / chance for j, word in enumerate(read) if word == said[at]
        }
        assert copied.gate == pytest.approx(gate, abs=1e-5)
        assert copied.share == pytest.approx(sum(parts.values()), abs=1e-5)
        assert dict(copied.sources) == pytest.approx({j: part for j, part in parts.items() if part >= 0.005}, abs=1e-5)
    assert seen.copies[0].share == pytest.approx(1.0)  # an unknown word cannot be written
    assert {j for j, _ in seen.copies[0].sources} == {1, 3}
    assert seen.copies[1] == Copied(seen.copies[1].gate, 0.0, ())  # the source has no cat


def test_an_explanation_tells_where_words_come_from() -> None:
    told = explain(model(gate=-8.0), TEXT).to_dict()
    tokens = told["parts"][0]["target"]
    assert "Ω" in told["target"]["text"] or "dog" in told["target"]["text"]
    for token in tokens:
        assert token["copied"]["share"] > 0.9
        for source in token["copied"]["sources"]:
            assert told["parts"][0]["source"][source["token"]]["text"] == token["text"]
    given = explain(model(), TEXT, target="Ω cat").to_dict()["parts"][0]["target"]
    assert [token["text"] for token in given] == ["Ω", "cat", "⏎"]
    assert [token["copied"]["share"] for token in given][:2] == [1.0, 0.0]
    json.dumps(told)


def test_models_that_do_not_copy_tell_nothing_of_it() -> None:
    plain = model()
    plain = Translator(
        Seq2seq(width=8).build({"source": len(plain.source), "target": len(plain.source)}), plain.source, plain.source
    )
    assert all("copied" not in token for token in explain(plain, "the dog").to_dict()["parts"][0]["target"])
    assert mean_of([]) == ()


def test_an_ensemble_has_the_mean() -> None:
    one, other = Copied(0.5, 1.0, ((1, 0.75), (3, 0.25))), Copied(0.25, 0.5, ((3, 0.5),))
    assert mean_of([[one]]) == (one,)
    assert mean_of([[one], [other]]) == (Copied(0.375, 0.75, ((1, 0.375), (3, 0.375))),)
