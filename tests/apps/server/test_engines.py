"""Models by their languages, and what they are asked, done together as it would be done alone."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from regard.apps.server.engines import (
    Aligning,
    Engine,
    Engines,
    Explaining,
    Question,
    Translating,
    language_name,
    languages_of,
    load_models,
    with_glossaries,
)
from regard.base.errors import UsageError
from regard.decoding.glossary import Glossary
from regard.decoding.strategies.greedy import Greedy
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.interop.ctranslate2_translator import CTranslate2Translator
from regard.models.transformer import Transformer
from regard.runs.artifact import load_artifact, save_artifact
from tests.apps.server.serving import TEXTS
from tests.interop.examples import SMALL, write


def renamed(engine: Engine, source: str, target: str) -> Engine:
    return Engine(source, target, engine.translator, f"{source}-{target}")


def test_the_languages_are_those_of_the_settings_unless_they_are_named(trained: Path, tmp_path: Path) -> None:
    path = os.fspath(trained / "runs/en-de")
    assert [str(one) for one in load_models([path, f"fr-pt_BR={path}"])[0].all] == ["en → de", "fr → pt_BR"]
    odd = tmp_path / "en-de=model.safetensors"
    shutil.copy(trained / "runs/en-de/model.safetensors", odd)
    assert load_models([os.fspath(odd)])[0].all[0].path == os.fspath(odd)


def test_languages_that_the_settings_do_not_tell(trained: Path, tmp_path: Path) -> None:
    whole = load_artifact(trained / "runs/en-de/model.safetensors")
    config = {**whole.config, "data": {}, "name": "it-fr"}
    for name, wanted in (("it-fr", ("it", "fr")), ("dates", ("source", "target"))):
        path = tmp_path / f"{name}.safetensors"
        save_artifact(path, type(whole)(**{**vars(whole), "config": {**config, "name": name}}))
        assert languages_of(path) == wanted
    assert languages_of(tmp_path / "it-fr.safetensors") == ("it", "fr")


def test_models_that_cannot_be_served(trained: Path) -> None:
    path = os.fspath(trained / "runs/en-de")
    with pytest.raises(UsageError, match=r"translates en → de, as .* does; name the languages"):
        load_models([path, path])
    with pytest.raises(UsageError, match="no such file"):
        load_models(["fr-en=nowhere"])


def test_an_export_is_served_under_the_languages_of_its_model(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    file = write(tmp_path / "en-de.safetensors", Transformer(**SMALL))
    for path in (file, export_ctranslate2(file, tmp_path / "en-de")):
        (engine,) = load_models([os.fspath(path)], engine="ctranslate2", threads=1)[0].all
        assert isinstance(engine.translator, CTranslate2Translator)
        assert str(engine) == "en → de"


def test_finding_engines(engine: Engine) -> None:
    some = [renamed(engine, *pair) for pair in (("en", "de"), ("de", "en"), ("en", "fr"))]
    engines = Engines(some)
    assert engines.find("en", "fr") is some[2]
    assert engines.find("fr", "en") is None
    assert engines.writing("de") == [some[0]]
    assert (engines.sources, engines.targets) == (["en", "de"], ["de", "en", "fr"])
    assert engines.languages() == [
        {"code": "en", "name": "English", "targets": ["de", "fr"]},
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "fr", "name": "French", "targets": []},
    ]


def test_as_many_alternatives_as_the_beam_holds_and_none_without_one(engine: Engine) -> None:
    own = engine.translator.strategy
    assert engine.strategy(1) == own
    assert engine.strategy(3).n_best == 3
    assert engine.strategy(100).n_best == own.size
    before = engine.translator.strategy
    engine.translator.strategy = Greedy()
    assert engine.strategy(3) == Greedy()
    engine.translator.strategy = before


def test_every_source_has_a_limit(engine: Engine) -> None:
    assert engine.translator.max_source
    assert engine.translator.aligner is not None


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


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("pt_BR", "Portuguese (BR)"),
        ("en-GB", "English (GB)"),
        ("written", "written"),
        ("xx", "xx"),
        ("nb", "Norwegian Bokmål"),
        ("bn", "Bangla"),
        ("hsb", "Upper Sorbian"),
    ],
)
def test_a_code_and_its_name(code: str, name: str) -> None:
    assert language_name(code) == name


def test_glossaries_are_for_their_languages(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "terms.tsv"
    file.write_text("dog\tbaum\n", encoding="utf-8")
    [found] = with_glossaries(Engines([engine]), [str(file)]).all
    assert found.glossary == Glossary.of({"dog": "baum"})
    assert found.with_terms({"cat": "haus"}).glossary == Glossary.of({"dog": "baum", "cat": "haus"})
    assert found.with_terms({"dog": "haus"}).glossary == Glossary.of({"dog": "haus"})
    several = Engines([engine, replace(engine, source="xx")])
    [first, second] = with_glossaries(several, [f"xx-de={file}"]).all
    assert (first.glossary, second.glossary) == (None, Glossary.of({"dog": "baum"}))
    for given in (str(file), f"de-en={file}"):
        with pytest.raises(UsageError, match="SOURCE-TARGET=FILE; these are: en-de, xx-de"):
            with_glossaries(several, [given])


def test_models_that_do_not_translate_are_served_by_name(trained: Path) -> None:
    path = os.fspath(trained / "runs/lm")
    engines, models = load_models([os.fspath(trained / "runs/en-de"), path, f"second={path}"])
    assert [str(one) for one in engines.all] == ["en → de"]
    assert [(one.name, one.task) for one in models.all] == [("lm", "generate"), ("second", "generate")]
    with pytest.raises(UsageError, match=r"is called lm, as .* is; name one of them, as in second="):
        load_models([path, path])
    with pytest.raises(UsageError, match="a translator is named by its languages, as in en-de="):
        load_models([f"mine={trained / 'runs/en-de'}"])
