"""What the models are asked, done together as it would be done alone."""

from regard.apps.server.engines import Engine
from regard.apps.server.work import Aligning, Explaining, Question, Translating
from tests.apps.server.serving import TEXTS


def test_equal_work_is_the_same_work(engine: Engine) -> None:
    assert Translating(engine) == Translating(engine, 1)
    assert len({Translating(engine), Translating(engine), Translating(engine, 2), Aligning(engine)}) == 3


def test_translations_are_the_translators(engine: Engine) -> None:
    assert Translating(engine).run(TEXTS) == engine.translator.translate(TEXTS)
    best = Translating(engine, 3).run(TEXTS)
    assert [one.text for one in best] == [one.text for one in engine.translator.translate(TEXTS)]
    assert all(len(one.n_best) == 3 for one in best)


def test_links_of_given_translations_are_those_of_the_models_own(engine: Engine) -> None:
    own = Translating(engine, alignments=True).run(TEXTS)
    given = Aligning(engine).run([(text, one.text) for text, one in zip(TEXTS, own, strict=True)])
    for one, links in zip(own, given, strict=True):
        assert [link[:2] for link in links] == [link[:2] for link in one.alignment or ()]


def test_explanations_start_as_they_are_told_to(engine: Engine) -> None:
    free, forced = Explaining(engine).run([Question(TEXTS[0]), Question(TEXTS[0], "wasser")])
    assert free["target"]["text"] == engine.translator.translate(TEXTS[:1])[0].text
    assert forced["target"]["text"].startswith("wasser")


def test_costs_grow_with_the_text(engine: Engine) -> None:
    assert Translating(engine).cost("abc") == 3
    assert Aligning(engine).cost(("abc", "de")) == 5
    assert Explaining(engine).cost(Question("abc")) > 3
