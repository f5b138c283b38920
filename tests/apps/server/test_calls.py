"""LibreTranslate's calls and its own client; links and explanations."""

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import httpx
import pytest
from libretranslatepy import LibreTranslateAPI

from regard.apps.server.app import make_app
from regard.apps.server.engines import Engine, Engines
from regard.apps.server.service import Service
from regard.apps.server.suggestions import Suggestions
from regard.decoding.glossary import Glossary
from regard.inspection.explanation.explain import explain
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
        posted = urlopen(f"http://127.0.0.1:{port}/languages", data=urlencode({"api_key": "secret"}).encode())
        assert json.load(posted) == service.engines.languages()  # as Argos Translate's client asks
        [found] = client.detect(TEXTS[0])
        assert found["language"] == "en"
        assert client.detect("Ein Mann schläft auf der Straße.")[0]["language"] == "de"  # which is written, not read
        stranger = LibreTranslateAPI(f"http://127.0.0.1:{port}")
        with pytest.raises(OSError, match="403"):
            stranger.translate(TEXTS[0], "en", "de")


def test_terms_of_a_request_and_of_the_server_come_out_as_given(engine: Engine) -> None:
    served = replace(engine, glossary=Glossary.of({"cat": "haus haus"}))
    with serving.called(serving.make_service(served)) as call:
        ask = {**ASK, "q": TEXTS[:2]}
        found = call("POST", "/translate", json=ask).json()["translatedText"]
        assert ["haus haus" in text for text in found] == [True, False]
        terms = {"dog": "baum baum"}
        for given in ({"json": {**ask, "glossary": terms}}, {"data": {**ask, "glossary": json.dumps(terms)}}):
            found = call("POST", "/translate", **given).json()["translatedText"]
            assert ["baum baum" in text and "haus haus" in text for text in found] == [True, False]
        for wrong, status in (({"dog": "漢"}, 400), ({"dog": ""}, 400), ("dog", 400), ({"a": "b" * 10_000}, 413)):
            assert call("POST", "/translate", json={**ask, "glossary": wrong}).status_code == status
        assert call("POST", "/translate", data={**ask, "glossary": "{"}).status_code == 400


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


def test_a_text_in_the_target_language_is_left_alone(call: Call) -> None:
    text = "Der Hund sieht die Katze und das Haus."
    found = call("POST", "/translate", json={"source": "auto", "target": "de", "q": [text, TEXTS[0]]}).json()
    assert found["translatedText"][0] == text
    assert found["translatedText"][1] != TEXTS[0]
    assert [one["language"] for one in found["detectedLanguage"]] == ["de", "en"]
    page = f"<p title='the house of the dog and the cat'>{text}</p>"
    kept = call("POST", "/translate", json={"source": "auto", "target": "de", "q": page, "format": "html"}).json()
    assert (kept["translatedText"], kept["detectedLanguage"]["language"]) == (page, "de")
    same = call("POST", "/translate", json={"source": "de", "target": "de", "q": text, "glossary": {"dog": "hund"}})
    assert same.json() == {"translatedText": text}


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
        ({"target": "fr"}, 400),
        ({"target": "en"}, 200),  # left alone
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
    assert (settings["suggestions"], settings["filesTranslation"]) == (False, True)
    assert {".txt", ".html", ".md", ".srt", ".vtt", ".po", ".docx"} <= set(settings["supportedFilesFormat"])
    assert call("POST", "/detect", json={"q": " "}).status_code == 400


def test_a_file_is_translated_as_its_text_is_and_can_be_fetched(engine: Engine) -> None:
    text = "".join(f"{line}\n" for line in TEXTS)
    service = serving.make_service(engine, keys=("secret",))
    with serving.live(service) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        asked = {**ASK, "api_key": "secret"}
        said = client.post("/translate", data={**asked, "q": text}).json()["translatedText"]
        sent = {"file": ("../my report.txt", b"\xef\xbb\xbf" + text.encode())}
        told = client.post("/translate_file", data=asked, files=sent).json()
        assert list(told) == ["translatedFileUrl"]
        address = told["translatedFileUrl"]
        assert re.fullmatch(rf"http://127.0.0.1:{port}/download_file/[0-9a-f]{{32}}\.my_report_de\.txt", address)
        fetched = client.get(address)
        assert fetched.text == said
        assert fetched.headers["content-disposition"] == "attachment; filename*=UTF-8''my_report_de.txt"
        refused = client.post("/translate_file", data=ASK, files=sent)
        assert refused.status_code == 403


def test_a_page_keeps_its_tags_as_a_file(call: Call) -> None:
    page = f"<!doctype html><title>{TEXTS[0]}</title><p>{TEXTS[1]} <b>{TEXTS[2]}</b></p>"
    said = call("POST", "/translate", json={**ASK, "q": page, "format": "html"}).json()["translatedText"]
    asked = {"source": "auto", "target": "de"}
    told = call("POST", "/translate_file", data=asked, files={"file": ("PAGE.HTML", page.encode())}).json()
    assert call("GET", told["translatedFileUrl"]).text == said


def test_documents_of_every_kind_keep_their_markup(call: Call, engine: Engine, tmp_path: Path) -> None:
    dog, house = (one.text for one in engine.translator.translate(TEXTS[:2]))
    word = import_module("docx").Document()
    word.add_heading(TEXTS[0])
    word.save(str(tmp_path / "a.docx"))
    sent = {
        "a.md": f"# {TEXTS[0]}\n\n    code\n\n{TEXTS[1]}\n",
        "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{TEXTS[0]}\n",
        "a.vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n{TEXTS[1]}\n",
        "a.po": f'msgid "{TEXTS[0]}"\nmsgstr ""\n',
    }
    expected = {
        "a.md": f"# {dog}\n\n    code\n\n{house}\n",
        "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{dog}\n",
        "a.vtt": f"WEBVTT\n\n00:01.000 --> 00:02.000\n{house}\n",
        "a.po": f'msgstr "{dog}"',
    }
    for name, content in sent.items():
        told = call("POST", "/translate_file", data=ASK, files={"file": (name, content.encode())}).json()
        assert expected[name] in call("GET", told["translatedFileUrl"]).text
    told = call("POST", "/translate_file", data=ASK, files={"file": ("a.docx", (tmp_path / "a.docx").read_bytes())})
    (tmp_path / "b.docx").write_bytes(call("GET", told.json()["translatedFileUrl"]).content)
    assert [one.text for one in import_module("docx").Document(str(tmp_path / "b.docx")).paragraphs] == [dog]


@pytest.mark.parametrize(
    ("change", "file", "status", "sentence"),
    [
        ({}, None, 400, "missing file"),
        ({"source": ""}, ("a.txt", b"a"), 400, "missing source"),
        ({"target": "xx"}, ("a.txt", b"a"), 400, "unknown 'xx'"),
        ({}, ("a.exe", b"a"), 400, "format not supported; formats are: .txt"),
        ({}, ("txt", b"a"), 400, "format not supported"),
        ({}, ("a.txt", b"ab\xff"), 400, "a.txt, line 1: byte 0xff is not UTF-8"),
        ({}, ("a.srt", b"no cue"), 400, "a.srt: has no cue"),
        ({}, ("a.docx", b"PK\x03\x04 half a file"), 400, "a.docx: "),
        ({}, ("a.po", b'msgid "a\nmsgstr ""'), 400, "a.po, line 1"),
        ({}, ("a.txt", b"a" * 201), 413, "201 characters, but 200"),
        ({}, ("a.txt", b"a" * 2_000), 413, "1000 bytes"),
        ({}, ("a.txt", b""), 200, ""),
    ],
)
def test_which_files_are_refused(engine: Engine, change: dict[str, str], file: Any, status: int, sentence: str) -> None:
    with serving.called(serving.make_service(engine, file_characters=200, file_bytes=1_000)) as call:
        sent = {"files": {"file": file}} if file else {}
        found = call("POST", "/translate_file", data={**ASK, **change}, **sent)
        assert (found.status_code, sentence in found.json().get("error", "")) == (status, True), found.text


def test_too_many_files_at_once(engine: Engine) -> None:
    held, translator = serving.gated(engine)
    service = serving.make_service(held, files=1)

    async def crowd() -> list[int]:
        app = make_app(service)

        async def ask() -> int:
            sent = {"file": ("a.txt", TEXTS[0].encode())}
            return (await serving.send(app, "POST", "/translate_file", data=ASK, files=sent)).status_code

        first = asyncio.create_task(ask())
        await asyncio.to_thread(translator.reached.wait, 30)
        second = await ask()
        translator.gate.set()
        return [await first, second, await ask()]

    assert asyncio.run(crowd()) == [200, 429, 200]
    service.batcher.close()


def test_suggestions_are_collected_where_the_operator_wants_them(engine: Engine, tmp_path: Path) -> None:
    given = {**ASK, "q": "the dog\n", "s": "der Hund \u2028"}
    with serving.called(serving.make_service(engine)) as call:
        refused = call("POST", "/suggest", data=given)
        assert (refused.status_code, "disabled" in refused.json()["error"]) == (403, True)
    collected = Suggestions(tmp_path / "suggestions.jsonl")
    with serving.called(serving.make_service(engine, suggestions=collected)) as call:
        assert call("GET", "/frontend/settings").json()["suggestions"] is True
        assert call("POST", "/suggest", data=given).json() == {"success": True}
        assert call("POST", "/suggest", json={**given, "source": "auto"}).json() == {"success": True}
        for change in ({"s": " "}, {"q": ""}, {"target": "xx"}, {"source": "auto", "target": "xx"}, {"source": "xx"}):
            assert call("POST", "/suggest", json={**given, **change}).status_code == 400
        assert call("POST", "/suggest", json={**given, "q": "a" * 20_000}).status_code == 413
    lines = collected.path.read_text(encoding="utf-8").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [given, {**given, "source": "auto"}]
    assert lines[-1] == ""


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


ASK = {"source": "en", "target": "de"}


def test_words_and_their_links(call: Call, engine: Engine) -> None:
    own = engine.translator.translate(TEXTS[:2], alignments=True)
    given = {"q": TEXTS[:2], "translation": [one.text for one in own]}
    found = call("POST", "/align", json={**ASK, **given}).json()
    for text, one, told in zip(TEXTS, own, found, strict=False):
        assert (told["source"], told["target"]) == (text.split(), one.text.split())
        links = {(link["source"], link["target"]) for link in told["links"]}
        assert links == {(link.source, link.target) for link in one.alignment or ()}
        assert all(0 <= link["confidence"] <= 1 for link in told["links"])
    alone = call("POST", "/align", data={**ASK, "q": TEXTS[0], "translation": own[0].text}).json()
    assert alone == found[0]


def test_nothing_to_link(call: Call) -> None:
    found = call("POST", "/align", json={**ASK, "q": ["", "a"], "translation": ["b", " "]}).json()
    assert [one["links"] for one in found] == [[], []]


@pytest.mark.parametrize(
    ("q", "translation", "status"),
    [(["a"], "a", 400), (["a"], ["a", "b"], 400), ("the " * 3_000, "das", 413), ("a" * 20_001, "", 413)],
)
def test_what_cannot_be_linked(call: Call, q: object, translation: object, status: int) -> None:
    assert call("POST", "/align", json={**ASK, "q": q, "translation": translation}).status_code == status


def test_an_explanation_is_the_one_that_inspect_shows(call: Call, engine: Engine) -> None:
    told = call("POST", "/explain", json={**ASK, "q": TEXTS[0]}).json()
    assert told == explain(engine.translator, TEXTS[0]).to_dict() | {"model": "en-de"}


def test_an_explanation_has_self_attention_and_the_detected_language_on_request(call: Call) -> None:
    asked = {**ASK, "q": TEXTS[0], "source": "auto", "attention": "all"}
    told = call("POST", "/explain", json=asked).json()
    assert told["detected"]["language"] == "en"
    assert set(told["attention"]) == {kind for kind in ("encoder", "decoder") if told["parts"][0][kind]} | {"cross"}
    refused = call("POST", "/explain", json={**asked, "attention": "some"})
    assert (refused.status_code, "kinds are: all, cross" in refused.json()["error"]) == (400, True)


def test_a_text_in_the_target_language_is_not_explained_but_kept(call: Call) -> None:
    text = "Das ist ein sehr schönes Haus, und der Hund liegt unter dem Baum im Garten."
    told = call("POST", "/explain", json={"q": text, "source": "auto", "target": "de"}).json()
    assert (told["target"]["text"], told["detected"]["language"], told["links"]) == (text, "de", [])


def test_one_sentence_of_a_long_text_is_explained(engine: Engine) -> None:
    with serving.called(serving.make_service(engine, explained=30)) as call:
        text = " ".join(TEXTS)
        assert call("POST", "/explain", json={**ASK, "q": text}).status_code == 413
        told = call("POST", "/explain", json={**ASK, "q": text, "at": 0}).json()
        assert told["source"]["text"] == text
        assert all(len(part["texts"]["source"]) <= 30 for part in told["parts"] if part["target"])


def test_a_word_can_be_chosen_and_the_rest_is_written_again(call: Call) -> None:
    first = call("POST", "/explain", json={**ASK, "q": TEXTS[0]}).json()
    prefix = first["parts"][0]["target"][0]["alternatives"][0]["prefix"]
    second = call("POST", "/explain", json={"source": "auto", "target": "de", "q": TEXTS[0], "prefix": prefix}).json()
    assert second["target"]["text"] != first["target"]["text"]
    assert second["target"]["text"].startswith(prefix.strip())


def test_an_explanation_has_its_own_limit_and_may_be_of_nothing(call: Call) -> None:
    assert call("POST", "/explain", json={**ASK, "q": "a" * 1_001}).status_code == 413
    assert call("POST", "/explain", json={**ASK, "q": ""}).json()["target"]["text"] == ""


@pytest.fixture
def blind(engine: Engine) -> Iterator[Call]:
    translator = object.__new__(type(engine.translator))
    translator.__dict__.update({**engine.translator.__dict__, "aligner": None})
    with serving.called(serving.make_service(Engine("en", "de", translator))) as made:
        yield made


def test_a_model_that_does_not_attend_says_so(blind: Call) -> None:
    refused = blind("POST", "/align", json={**ASK, "q": "a", "translation": "b"})
    assert (refused.status_code, "cannot link words" in refused.json()["error"]) == (400, True)
    assert blind("POST", "/translate", json={**ASK, "q": "<b>the dog</b>", "format": "html"}).status_code == 200
