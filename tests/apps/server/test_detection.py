"""Languages by the text alone."""

import pytest

from regard.apps.server import detection

SERVED = ["de", "en", "fr", "zh", "pt_BR"]


def test_the_sample_is_the_beginning_in_whole_words() -> None:
    assert detection.sample(" a\n\n b ") == "a b"
    found = detection.sample("word " * 1_000)
    assert len(found) <= detection.SAMPLE
    assert set(found.split()) == {"word"}
    assert len(detection.sample("x" * 10_000)) == detection.SAMPLE
    assert detection.sample("see https://the.house/and {name} der Hund a@b.org") == "see der Hund"


def test_html_is_judged_by_its_text() -> None:
    page = "<html><style>the and of {}</style><p class='the house of the dog'>Der Hund <b>schläft</b></p>"
    assert detection.sample(page, "html") == "Der Hund schläft"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Two dogs play in the snow.", "en"),
        ("Zwei Hunde spielen im Schnee.", "de"),
        ("Deux chiens jouent dans la neige.", "fr"),
        ("你好，世界", "zh"),
        ("Dois cachorros brincam na neve com as crianças.", "pt_BR"),
        ("TWO DOGS PLAY IN THE SNOW.", "en"),
    ],
)
def test_languages_are_told_apart(text: str, language: str) -> None:
    found = detection.confidences(text, SERVED)
    assert next(iter(found)) == language
    assert detection.is_in(language, found)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert sum(found.values()) <= 1.0 + 1e-6


def test_what_is_in_none_of_the_languages_gets_low_confidences() -> None:
    for text in ("Привет, как дела?", "1234", "", "สวัสดีครับ ผมชื่อสมชาย"):
        found = detection.confidences(text, SERVED)
        assert max(found.values()) < 0.3, text
        assert not any(detection.is_in(language, found) for language in SERVED)


def test_a_language_that_is_not_known_gets_what_is_left() -> None:
    found = detection.confidences("Two dogs play in the snow.", ["en", "xx"])
    assert list(found) == ["en", "xx"]
    assert sum(found.values()) == pytest.approx(1.0)
    assert next(iter(detection.confidences("Привет, как дела?", ["en", "xx"]))) == "xx"
    assert detection.confidences("a", []) == {}


def test_percent_as_libretranslate_has_them() -> None:
    assert detection.as_languages({"en": 0.98765}) == [{"language": "en", "confidence": 98.8}]
