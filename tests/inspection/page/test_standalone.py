"""The page that is one file: safe whatever it shows, and alive when it is opened from a disk."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.inspection.explanation.explain import explain
from regard.inspection.page.standalone import PAGE, as_data, bundle, standalone
from regard.models.seq2seq import Seq2seq
from tests.browser import Open, browser, visit
from tests.inspection.page.serving import model

__all__ = ["browser", "visit"]

WICKED = ["</script><script>alert(1)</script>", "<!--", "\u2028", "\"&'", "{{SCRIPT}}"]


def test_no_text_leaves_its_data() -> None:
    written = as_data({"texts": WICKED})
    assert not re.search("[<>&\u2028]", written)
    assert json.loads(written) == {"texts": WICKED}


def test_a_bundle_has_all_modules_once_and_loads_none() -> None:
    script = bundle("offline")
    for path in {*PAGE.glob("*.js")} - {PAGE / f"{name}.js" for name in ("api", "composer", "page")}:
        assert script.count(f"const {path.stem}_module = ") == 1, path
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script


def test_the_policy_names_the_script_and_the_style_that_are_there() -> None:
    page = standalone({"source": {"text": ""}}, title="<b>&")
    [policy] = re.findall('Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'")
    [script] = re.findall('<script type="module">(.*?)</script>', page, re.DOTALL)
    [style] = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    for text in (script, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "<title>&lt;b&gt;&amp;</title>" in page
    assert "{{" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)


def test_placeholders_in_a_text_stay_as_they_are() -> None:
    page = standalone({"text": "{{SCRIPT}} {{NOTHING}}"}, title="{{DATA}}")
    assert '{"text":"{{SCRIPT}} {{NOTHING}}"}' in page
    assert "<title>{{DATA}}</title>" in page


# In a browser


def opened(visit: Open, folder: Path, told: Any, **settings: Any) -> Any:
    file = folder / "page.html"
    file.write_text(told.to_html("A page"), encoding="utf-8")
    return visit(file.as_uri(), **settings)


@pytest.mark.parametrize("width", [390, 1280])
def test_it_opens_from_a_file_and_lights_up(width: int, tmp_path: Path, visit: Open) -> None:
    told = explain(model(), "the dog sees the cat")
    page = opened(visit, tmp_path, told, viewport={"width": width, "height": 800})
    said = page.locator("#target .word").all_text_contents()
    assert page.locator("#source .word").all_text_contents() == "the dog sees the cat".split()
    assert " ".join(said) == told.target
    assert page.locator(".link").count() == len(told.links)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator("#target .word").first.hover()
    assert page.locator(".link.lit").count() == 1
    page.locator("#source .word").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".pointed").all_text_contents() == ["dog"]
    linked = [link.target for link in told.links if link.source == 1]
    page.keyboard.press("ArrowDown")
    assert page.locator(".pointed").text_content() in ({said[at] for at in linked} or {"dog"})
    assert page.locator(".head").count() == 6
    assert page.locator(".branch.chosen").count() == len(told.parts[0].target)


def test_alternatives_are_shown_but_cannot_be_asked_for(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(), "the dog"))
    page.locator("#target .word").first.click()
    assert page.get_by_role("dialog").locator(".other").count() == 6
    assert page.get_by_role("dialog").locator("button").count() == 0
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0


def test_a_recurrent_model_and_one_without_attention_have_pages_too(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(Seq2seq(width=8)), "the dog"))
    assert page.locator("canvas.cells").is_visible()
    assert page.get_by_label("Heads").is_hidden()  # there is but one
    page = opened(visit, tmp_path, explain(model(Seq2seq(width=8, attention=None)), "the dog"))
    assert page.get_by_text("no attention over its source").is_visible()
    assert page.locator(".path svg").is_visible()


def test_texts_without_spaces_are_linked_token_by_token(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(kind="character"), "thedogseesthecat"))
    assert page.get_by_role("button", name="Tokens").get_attribute("aria-pressed") == "true"
    assert page.locator("#source .word").count() == 16
    assert page.locator(".link").count() > 0


def test_letters_are_shown_with_the_spaces_between_words(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(kind="character"), "the dog sees the cat"))
    assert page.locator("#source").text_content() == "the dog sees the cat"


def test_a_long_text_shows_the_part_that_is_pointed_at(tmp_path: Path, visit: Open) -> None:
    translator = model()
    translator.max_source = 5
    told = explain(translator, "the dog sees the cat and the house")
    assert len(told.parts) > 1
    page = opened(visit, tmp_path, told)
    assert len(page.locator("#source .word").all_text_contents()) == 8
    rows = page.locator("canvas.cells")
    first = rows.get_attribute("aria-label")
    page.locator("#source .word").last.hover()
    page.wait_for_timeout(50)
    assert rows.get_attribute("aria-label") != first or len(told.parts[0].target) == len(told.parts[-1].target)
    assert page.locator("#source .word.pointed").text_content() == "house"


def test_nothing_in_a_text_runs(tmp_path: Path, visit: Open) -> None:
    text = " ".join([WICKED[0], "the", "dog", '<img src=x onerror="alert(1)">'])
    page = opened(visit, tmp_path, explain(model(), text, target=text))
    page.get_by_role("button", name="Words").click()
    assert page.locator("#source .word").all_text_contents() == text.split()
    assert page.locator("img, main script").count() == 0


def test_dark_and_light_draw_the_same_weights_in_other_colors(tmp_path: Path, visit: Open) -> None:
    torch.manual_seed(0)
    told = explain(model(), "the dog")
    drawn = []
    for scheme in ("light", "dark"):
        page = opened(visit, tmp_path, told, color_scheme=scheme)
        drawn.append(page.locator(".head canvas").first.evaluate("canvas => canvas.toDataURL()"))
    page.get_by_label("Use light colors").click()
    drawn.append(page.locator(".head canvas").first.evaluate("canvas => canvas.toDataURL()"))
    assert drawn[0] != drawn[1]
    assert drawn[0] == drawn[2]
