"""Languages by how sure the models are."""

import pytest

from regard.apps.server import detection
from regard.apps.server.engines import Engine


def test_the_sample_is_the_beginning_in_whole_words() -> None:
    assert detection.sample(" a\n\n b ") == "a b"
    found = detection.sample("word " * 1_000)
    assert len(found) <= detection.SAMPLE
    assert set(found.split()) == {"word"}
    assert len(detection.sample("x" * 10_000)) == detection.SAMPLE


def test_a_model_is_surer_of_what_it_learned_to_read(engine: Engine) -> None:
    translator = engine.translator

    def fit(text: str) -> float:
        return detection.fit(translator, text, translator.translate([text])[0])

    own, foreign, unknown = fit("the dog sees the cat"), fit("das hund sieht das katze"), fit("漢字 漢字")
    assert 0 >= own > foreign > unknown
    assert fit("") == unknown == -5.0


def test_shares_add_up_with_the_stranger_and_the_likeliest_is_first() -> None:
    found = detection.confidences({"de": -1.2, "en": -0.3, "fr": -3.0})
    assert list(found) == ["en", "de", "fr"]
    assert sum(found.values()) < 1
    assert found["en"] > 0.9
    assert sum(detection.confidences({"de": -5.0, "en": -5.0}).values()) < 1e-9
    assert detection.confidences({"en": -1.0})["en"] == pytest.approx(0.5)


def test_percent_as_libretranslate_has_them() -> None:
    assert detection.as_languages({"en": 0.98765}) == [{"language": "en", "confidence": 98.8}]
