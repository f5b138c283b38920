"""LibreTranslate's calls, and its own client."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from regard.apps.server.app import make_app
from regard.apps.server.engines import Engine, Engines
from regard.apps.server.service import Service
from tests.apps.running import Run
from tests.apps.server import serving
from tests.apps.server.conftest import Call
from tests.apps.server.serving import TEXTS

ASK = {"source": "en", "target": "de"}


def test_the_same_texts_as_from_regard_translate(home: Path, run: Run, call: Call) -> None:
    said = run("translate", "runs/en-de", stdin="".join(f"{text}\n" for text in TEXTS)).lines
    assert call("POST", "/translate", json={**ASK, "q": TEXTS}).json() == {"translatedText": said}
    one_by_one = [call("POST", "/translate", data={**ASK, "q": text}).json()["translatedText"] for text in TEXTS]
    assert one_by_one == said


def test_its_own_client_works_unchanged(engine: Engine) -> None:
    service = serving.make_service(engine, keys=("secret",))
    with serving.live(service) as port:
        client = LibreTranslateAPI(f"http://127.0.0.1:{port}", api_key="secret")
        assert client.translate(TEXTS[0], "en", "de") == engine.translator.translate(TEXTS[:1])[0].text
        assert client.languages() == service.engines.languages()
        [found] = client.detect(TEXTS[0])
        assert found["language"] == "en"
        stranger = LibreTranslateAPI(f"http://127.0.0.1:{port}")
        with pytest.raises(OSError, match="403"):
            stranger.translate(TEXTS[0], "en", "de")


def test_alternatives_are_further_texts(call: Call, engine: Engine) -> None:
    found = call("POST", "/translate", json={**ASK, "q": TEXTS[0], "alternatives": 2}).json()
    best = engine.translator.translate(TEXTS[:1], strategy=engine.strategy(3))[0]
    assert [found["translatedText"], *found["alternatives"]] == [one.text for one in best.n_best]
    found = call("POST", "/translate", json={**ASK, "q": [TEXTS[0], ""], "alternatives": 10**30}).json()
    assert [len(some) for some in found["alternatives"]] == [engine.translator.strategy.size - 1, 0]


def test_the_only_language_is_taken_for_auto_and_its_confidence_is_told(call: Call) -> None:
    found = call("POST", "/translate", json={"source": "auto", "target": "de", "q": [TEXTS[0], "漢字"]}).json()
    own, foreign = found["detectedLanguage"]
    assert (own["language"], foreign["language"]) == ("en", "en")
    assert own["confidence"] > 50 > foreign["confidence"]
    assert call("POST", "/translate", json={"source": "auto", "target": "xx", "q": "a"}).status_code == 400


def test_of_two_models_the_one_that_reads_the_text(engine: Engine) -> None:
    """A model of the other direction, made of the same weights but with its vocabularies turned."""
    turned = object.__new__(type(engine.translator))
    turned.__dict__.update(engine.translator.__dict__)
    turned.source = engine.translator.target.from_json(engine.translator.source.to_json().replace('▁the"', '▁teh"'))
    other = Engine("xx", "de", turned)
    with serving.called(serving.make_service(other, engine)) as call:
        found = call("POST", "/translate", json={"source": "auto", "target": "de", "q": TEXTS[0]}).json()
        assert found["detectedLanguage"]["language"] == "en"
        assert [one["language"] for one in call("POST", "/detect", json={"q": TEXTS[0]}).json()] == ["en", "xx"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"source": "fr"}, 400),
        ({"target": "en"}, 400),
        ({"format": "pdf"}, 400),
        ({"q": None}, 400),
        ({"q": {}}, 400),
        ({"q": "a" * 10_001}, 413),
        ({"q": ["a"] * 129}, 413),
        ({"q": "a" * (1 << 20)}, 413),
        ({"q": ""}, 200),
        ({"q": []}, 200),
        ({"q": "\x00\x07\x1b\u202e\ufeff\U0010ffff"}, 200),
        ({"q": "\n" * 9_999}, 200),
        ({"format": None, "api_key": None, "alternatives": None}, 200),
        ({"alternatives": -1}, 200),
    ],
)
def test_what_is_served_and_what_is_not(call: Call, change: dict[str, Any], status: int) -> None:
    response = call("POST", "/translate", json={**ASK, "q": "the dog", **change})
    assert response.status_code == status, response.text
    assert ("error" in response.json()) == (status != 200)


def test_settings_languages_and_what_is_not_offered(call: Call, engine: Engine) -> None:
    settings = call("GET", "/frontend/settings").json()
    assert settings["language"]["target"] == {"code": "de", "name": "German"}
    assert (settings["charLimit"], settings["keyRequired"]) == (10_000, False)
    assert call("GET", "/languages").json() == Engines([engine]).languages()
    refused = call("POST", "/translate_file", files={"file": b"text"})
    assert (refused.status_code, "not translated" in refused.json()["error"]) == (400, True)
    assert call("POST", "/detect", json={"q": " "}).status_code == 400


def test_an_overfull_queue_refuses_at_once_and_serving_goes_on(engine: Engine) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held, queue=4)
    statuses = asyncio.run(_crowd(service, translator, 4))
    assert sorted(statuses) == [200] * 5 + [429] * 7
    service.batcher.close()


async def _crowd(service: Service, translator: serving.Gated, limit: int) -> list[int]:
    """One request that is worked on, then three times as many as may wait, then nothing until the gate opens."""
    app = make_app(service)

    async def ask() -> httpx.Response:
        return await serving.send(app, "POST", "/translate", json={**ASK, "q": TEXTS[0]})

    first = asyncio.create_task(ask())
    await asyncio.to_thread(translator.reached.wait, 30)
    others = [asyncio.create_task(ask()) for _ in range(3 * limit - 1)]
    done: set[asyncio.Task[httpx.Response]] = set()
    while len(done) < 2 * limit - 1:
        done, _ = await asyncio.wait(others, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    assert all(one.result().headers["retry-after"] for one in done)
    translator.gate.set()
    return [(await one).status_code for one in (first, *others)]
