"""Links and explanations over HTTP."""

from collections.abc import Iterator

import pytest

from regard.apps.server.engines import Engine
from regard.inspection.explanation.explain import explain_text
from tests.apps.server import serving
from tests.apps.server.conftest import Call
from tests.apps.server.serving import TEXTS

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
    assert told == explain_text(engine.translator, TEXTS[0]).to_dict()


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
