"""The calls of models that do not translate, and their page in a real browser."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.apps.server.served import ServedModels
from tests.apps.server.conftest import Call
from tests.apps.server.serving import called, live, make_service
from tests.apps.server.small_models import QUESTIONS, picture, small_models
from tests.browser import Open, browser, visit

__all__ = ["browser", "visit"]


@pytest.fixture(scope="module")
def ask() -> Iterator[Call]:
    with called(make_service(models=small_models(), characters=400, explained=300, body_bytes=4000)) as call:
        yield call


def test_models_are_listed_with_what_they_do(ask: Call) -> None:
    told = {one["name"]: one for one in ask("GET", "/models").json()}
    assert told["moods"] == {"name": "moods", "task": "classify", "reads": "text", "about": told["moods"]["about"]}
    assert told["moods"]["about"]["classes"] == ["good", "bad"]
    assert [told[name]["reads"] for name in ("hull", "sums", "club", "digits")] == ["points", "set", "graph", "picture"]
    assert {"name": "hull", "task": "points"} in ask("GET", "/health").json()["models"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_is_asked_and_looked_into(name: str, ask: Call) -> None:
    found = ask("POST", "/predict", json={"q": [QUESTIONS[name]] * 2, "model": name}).json()
    assert found["answers"][0]["text"] == found["answers"][1]["text"]
    looked = ask("POST", "/look", json={"q": QUESTIONS[name], "model": name}).json()
    assert (looked["model"], looked["task"]) == (name, found["task"])
    assert ask("POST", "/look", data={"q": QUESTIONS[name], "model": name}).json() == looked  # as a form


def test_objects_are_taken_as_they_are(ask: Call) -> None:
    asked = {"points": [[0, 0], [1, 1]]}
    assert ask("POST", "/predict", json={"q": asked, "model": "hull"}).status_code == 200


@pytest.mark.parametrize(
    ("question", "status", "sentence"),
    [
        ({"q": "x"}, 400, "model: say which; these are: moods"),
        ({"q": "x", "model": "mods"}, 400, "did you mean 'moods'"),
        ({"q": " ", "model": "moods"}, 400, "q must be a text"),
        ({"q": "x" * 401, "model": "moods"}, 413, "has 401 characters, but 400 are allowed"),
        ({"q": "/etc/passwd", "model": "digits"}, 400, "must be a PNG or JPEG file in base64"),
        ({"q": 7, "model": "moods"}, 400, "Invalid request"),
    ],
)
def test_mistakes_are_told(question: object, status: int, sentence: str, ask: Call) -> None:
    answer = ask("POST", "/predict", json=question)
    assert (answer.status_code, sentence in answer.json()["error"]) == (status, True), answer.text


def test_looking_has_a_limit_of_its_own(ask: Call) -> None:
    assert ask("POST", "/look", json={"q": "x" * 301, "model": "moods"}).status_code == 413


def test_translation_is_not_offered_where_nothing_translates(ask: Call) -> None:
    assert ask("GET", "/languages").status_code == 404
    assert "/translate" not in ask("GET", "/openapi.json").json()["paths"]
    page = ask("GET", "/")
    assert "assets/ask.js" in page.text
    assert ask("GET", "/ask").text == page.text


def test_a_lone_model_needs_no_name() -> None:
    with called(make_service(models=ServedModels([small_models().named("hull")]))) as call:
        assert call("POST", "/predict", json={"q": QUESTIONS["hull"]}).json()["model"] == "hull"


def test_keys_are_asked_for() -> None:
    with called(make_service(models=small_models(), keys=("secret",))) as call:
        for path in ("/predict", "/look", "/v1/completions", "/v1/embeddings"):
            assert call("POST", path, json={"q": "x", "model": "novels", "input": "x"}).status_code == 403
        assert call("POST", "/predict", json={"q": "x", "model": "moods", "api_key": "secret"}).status_code == 200


# In a browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with live(make_service(models=small_models())) as port:
        yield f"http://127.0.0.1:{port}/"


def choose(page: Any, name: str) -> None:
    page.locator("#model option").first.wait_for(state="attached")
    page.select_option("#model", name)
    if name != "digits":
        page.fill("#text", QUESTIONS[name])


@pytest.mark.parametrize("width", [390, 1280])
def test_each_model_is_asked_and_shows_what_it_looks_at(width: int, address: str, visit: Open, tmp_path: Path) -> None:
    page = visit(address, viewport={"width": width, "height": 800})
    shown = {
        "moods": "section[aria-label=Attention] canvas",
        "hull": "section[aria-label='What each step looked at'] figure >> nth=2",
        "sums": "section[aria-label='What was read from each element'] rect >> nth=5",
        "club": "section[aria-label='What a node attends to'] line >> nth=1",
    }
    for name, place in shown.items():
        choose(page, name)
        page.wait_for_selector(place, state="attached")  # a vertical line counts as hidden
        assert page.inner_text("#answer").strip()
        assert page.evaluate("document.documentElement.scrollWidth") == width
    choose(page, "digits")
    (tmp_path / "a.png").write_bytes(base64.b64decode(picture(24).partition(",")[2]))
    page.set_input_files("#file", tmp_path / "a.png")
    page.wait_for_selector("#layers figure >> nth=1")
    assert not page.is_visible("#trouble")


def test_a_text_is_written_on_and_points_are_set(address: str, visit: Open) -> None:
    page = visit(address)
    choose(page, "novels")
    page.wait_for_selector("#answer li")
    for _ in range(9):  # what is drawn may be nothing at all
        if page.input_value("#text") == "the cat":
            page.click("#write")
            page.wait_for_selector("#write:not([disabled])")
    assert page.input_value("#text").startswith("the cat ")
    choose(page, "hull")
    page.wait_for_selector("#board circle >> nth=2")
    page.locator("#board").click(position={"x": 60, "y": 60})
    page.wait_for_selector("#board circle >> nth=3")
    assert page.input_value("#text").count("[") == 5


def test_a_mistake_is_told_and_gone_with_the_next_answer(address: str, visit: Open) -> None:
    page = visit(address, allowed=("400",))
    choose(page, "sums")
    page.fill("#text", "{")
    page.wait_for_selector("#trouble:visible")
    assert "not a JSON object" in page.inner_text("#trouble")
    page.fill("#text", QUESTIONS["sums"])
    page.wait_for_selector("#trouble", state="hidden")
