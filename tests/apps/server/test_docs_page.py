"""The documentation of the API as a page: complete, escaped, and fit to read in a real browser."""

import pytest

from regard.apps.server.docs_page import docs_page
from regard.apps.server.engines import Engine
from tests.apps.server import serving
from tests.browser import Open, browser, visit

__all__ = ["browser", "visit"]

DESCRIPTION = {
    "info": {"title": "A & B"},
    "paths": {
        "/do": {
            "post": {
                "summary": "Do <it>.",
                "responses": {"200": {"description": "Done"}, "400": {"description": "Not & never"}},
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Do"}}}},
            }
        },
        "/see": {"get": {"summary": "See.", "responses": {"200": {"description": "Done"}}}},
    },
    "components": {
        "schemas": {
            "Do": {
                "required": ["q"],
                "properties": {
                    "q": {"description": "A <text>"},
                    "to": {"description": "A language", "enum": ["de", "<b>"]},
                },
            }
        }
    },
}


def test_calls_fields_choices_and_refusals_are_there_and_escaped() -> None:
    page = docs_page(DESCRIPTION)
    assert page.count("<section") == 2
    assert "Do &lt;it&gt;." in page
    assert "<dt><code>q</code></dt><dd>A &lt;text&gt;</dd>" in page
    assert "<dt><code>to</code> (optional)</dt><dd>A language: <code>de</code>, <code>&lt;b&gt;</code></dd>" in page
    assert "<code>400</code> Not &amp; never" in page
    assert "Done" not in page
    assert 'href="#post-do"' in page and 'id="post-do"' in page


def test_the_contents_name_a_path_of_two_methods_once() -> None:
    call = {"summary": "See.", "responses": {}}
    page = docs_page({"info": {"title": "A"}, "paths": {"/see": {"get": call, "post": call}}, "components": {}})
    assert page.count("<section") == 2
    assert page.count('<li><a href="#get-see">') == 1 and '<li><a href="#post-see">' not in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_has_the_look_of_the_page_and_fits(width: int, scheme: str, engine: Engine, visit: Open) -> None:
    service = serving.make_service(engine)
    with serving.live(service) as port:
        page = visit(f"http://127.0.0.1:{port}/docs", viewport={"width": width, "height": 800}, color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paper, ground = page.evaluate(
            "['.card', 'body'].map(name => getComputedStyle(document.querySelector(name)).backgroundColor)"
        )
        assert paper != ground
        assert (sum(map(int, paper.removeprefix("rgb(").rstrip(")").split(","))) > 384) == (scheme == "light")
        assert page.locator(".call").count() >= 8
        page.get_by_role("link", name="regard").click()
        page.wait_for_selector("#text")
        page.close()
