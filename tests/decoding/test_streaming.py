"""Texts that are told as they are written."""

from regard.decoding.generator import Generator
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.streaming import write_aloud
from regard.decoding.translator import Translator
from regard.models.gpt import Gpt
from regard.models.t5 import T5
from tests.decoding.readers import vocabulary

SMALL = {"width": 16, "heads": 2}


def test_the_pieces_make_the_text_that_generate_gives() -> None:
    subwords = vocabulary()
    generator = Generator(Gpt(layers=1, **SMALL).build({"text": len(subwords)}).eval(), subwords)
    for strategy in (Greedy(max_length=8, min_length=4), Sample(max_length=12, min_length=6, seed=2)):
        told: list[str] = []
        found = write_aloud(generator, "two dogs", strategy, told.append)
        (expected,) = generator.generate(["two dogs"], strategy)[0]
        assert found == expected
        assert "".join(told) == expected.text
        assert len(told) == 1 + len(found.tokens)


def test_a_model_that_reads_writes_its_own_text() -> None:
    subwords = vocabulary()
    model = T5(encoder_layers=1, decoder_layers=1, **SMALL).build({"source": len(subwords), "target": len(subwords)})
    translator = Translator(model.eval(), subwords, subwords)
    told: list[str] = []
    found = write_aloud(translator, "two dogs", Greedy(max_length=6, min_length=3), told.append)
    (expected,) = translator.translate(["two dogs"], strategy=Greedy(max_length=6, min_length=3))
    assert found.text == expected.text == "".join(told)


def test_stops_end_a_text() -> None:
    subwords = vocabulary()
    model = Gpt(layers=1, **SMALL).build({"text": len(subwords)}).eval()
    strategy = Greedy(max_length=8, min_length=8)
    (whole,) = Generator(model, subwords).generate(["two"], strategy)[0]
    stop = whole.tokens[2]
    (found,) = Generator(model, subwords, stops=[stop]).generate(["two"], strategy)[0]
    assert found.tokens == whole.tokens[: whole.tokens.index(stop)]
