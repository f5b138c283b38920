"""The page that is one file: safe whatever it shows, and alive when it is opened from a disk."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard.inspection.explanation.explain import Detail, explain
from regard.inspection.explanation.forced import ATTENTION_KINDS
from regard.inspection.page.standalone import PAGE, as_data, bundle, standalone
from regard.layers.pointer_generator import Copying
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
    served = ("address", "api", "composer", "languages", "page", "ask", "answers", "board", "structures")
    pictures = ("seeing", "picture_attention", "text_attention", "encoder")
    for path in {*PAGE.glob("*.js")} - {PAGE / f"{name}.js" for name in (*served, *pictures)}:
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
    assert page.locator(".pointed").all_text_contents() == ["dog", "dog"]  # in the text and in the panel of links
    linked = [link.target for link in told.links if link.source == 1]
    page.locator(".line .word").nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".pair .pointed").text_content() in ({said[at] for at in linked} or {"dog"})
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
    assert page.get_by_text("no attention over what it reads").is_visible()
    assert page.locator(".path svg").is_visible()


def test_texts_without_spaces_are_linked_token_by_token(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(kind="character"), "thedogseesthecat"))
    assert page.get_by_role("button", name="Tokens", exact=True).get_attribute("aria-pressed") == "true"
    assert page.locator("#source .word").count() == 16
    assert page.locator(".link").count() > 0


def test_letters_are_shown_with_the_spaces_between_words(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(kind="character"), "the dog sees the cat"))
    assert page.locator("#source").text_content() == "the dog sees the cat"
    pieces = page.locator("#source .word.piece")
    assert pieces.count() and pieces.first.evaluate("node => getComputedStyle(node).paddingInline") == "0px"


def test_a_long_text_shows_the_part_that_is_pressed(tmp_path: Path, visit: Open) -> None:
    translator = model()
    translator.max_source = 5
    told = explain(translator, "the dog sees the cat and the house")
    count = len(told.parts)
    assert count > 1
    page = opened(visit, tmp_path, told)
    assert len(page.locator("#source .word").all_text_contents()) == 8
    assert page.locator(".line").first.text_content() == told.parts[0].texts[0]
    page.locator("#source .word").last.click()
    assert page.locator(".line").first.text_content() == told.parts[-1].texts[0]
    assert page.get_by_text(f"sentence {count} of {count}").is_visible()
    page.get_by_label("Next sentence").click()
    assert page.locator(".line").first.text_content() == told.parts[0].texts[0]


# Geometry


def boxes(page: Any, selector: str) -> list[dict[str, float]]:
    return page.locator(selector).evaluate_all("nodes => nodes.map(node => node.getBoundingClientRect().toJSON())")


def ends(page: Any) -> list[list[float]]:
    """Where each curve starts and ends, on the screen."""
    return page.locator(".link").evaluate_all(
        "curves => curves.map(curve => [0, curve.getTotalLength()].flatMap(at => {"
        "const point = curve.getPointAtLength(at).matrixTransform(curve.getScreenCTM()); return [point.x, point.y]; }))"
    )


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("said", ["das ist ein hund und eine katze", "هذا كلب و هذه قطة"])
def test_links_end_on_their_words_and_cross_no_text(said: str, width: int, tmp_path: Path, visit: Open) -> None:
    told = explain(model(), "the dog sees the cat and the house " * 2, target=said)
    page = opened(visit, tmp_path, told, viewport={"width": width, "height": 900})
    page.get_by_role("button", name="Words", exact=True).click()
    above, below = boxes(page, ".line:first-of-type .word"), boxes(page, ".line:last-of-type .word")
    found = ends(page)
    assert len(found) == len(told.links) > 0
    for link, (x, y, to_x, to_y) in zip(told.links, found, strict=True):
        source, target = above[link.source], below[link.target]
        assert source["left"] <= x <= source["right"] and abs(y - source["bottom"]) <= 3
        assert target["left"] <= to_x <= target["right"] and abs(to_y - target["top"]) <= 3
    assert max(box["bottom"] for box in above) < min(box["top"] for box in below)  # each side is one line
    [(left, right), (other_left, other_right)] = (
        (min(box["left"] for box in side), max(box["right"] for box in side)) for side in (above, below)
    )
    assert abs((left + right) - (other_left + other_right)) <= 8  # whatever the direction, both have one middle


def test_a_cell_lights_the_words_of_its_row_and_column(tmp_path: Path, visit: Open) -> None:
    told = explain(model(), "the dog sees the cat", target="das ist ein hund")
    page = opened(visit, tmp_path, told)
    cells = page.locator("canvas.cells")
    cells.focus()
    for row, column in ((1, 1), (2, 4), (0, 2)):
        for _ in range(6):
            page.keyboard.press("ArrowUp")
            page.keyboard.press("ArrowLeft")
        for key, times in (("ArrowDown", row), ("ArrowRight", column)):
            for _ in range(times):
                page.keyboard.press(key)
        assert page.locator(".line:first-of-type .lit").all_text_contents() == [told.source.split()[column]]
        assert page.locator(".line:last-of-type .lit").all_text_contents() == [told.target.split()[row]]
    box = cells.bounding_box()
    seen = set()
    for across in range(10, int(box["width"]), 12):
        page.mouse.move(box["x"] + across, box["y"] + box["height"] / 2)
        page.wait_for_timeout(20)
        read = page.locator(".reading").text_content()
        if "←" in read:
            row_text, _, rest = read.partition(" ← ")
            column_text = rest.split("  ")[0]
            lit = page.locator(".line .lit").all_text_contents()
            assert set(lit) == {column_text, row_text} - {"⏎", "␣"}
            seen.add(column_text)
    assert len(seen) >= 4


def luminance(color: str) -> float:
    """The relative luminance of rgb(…), as WCAG defines it."""
    shares = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_links_can_be_seen_in_both_schemes(scheme: str, tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(), "the dog sees the cat"), color_scheme=scheme)
    # all at once: a page that is drawn anew in between has other links
    looks = page.evaluate(
        """() => [...document.querySelectorAll(".link")].map((link) => {
            const { stroke, opacity, strokeWidth } = getComputedStyle(link);
            return [stroke, opacity, strokeWidth, getComputedStyle(link.closest(".panel")).backgroundColor];
        })"""
    )
    assert looks
    for stroke, opacity, width, paper in looks:
        light, dark = sorted((luminance(stroke), luminance(paper)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3  # WCAG 2.2, contrast of graphics
        assert float(opacity) == 1
        assert float(width.removesuffix("px")) >= 1


@pytest.mark.parametrize("which", ["the links", "the heat map"])
def test_a_downloaded_picture_is_filled(which: str, tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(), "the dog"))
    with page.expect_download() as waiting:
        page.get_by_label(f"Download {which} as PNG").click()
    pixels = np.asarray(Image.open(waiting.value.path()).convert("RGB")).astype(int)
    drawn = np.abs(pixels - pixels[0, 0]).sum(-1) > 30
    for axis in (0, 1):
        places = np.nonzero(drawn.any(axis))[0]
        assert places[-1] - places[0] > 0.75 * drawn.shape[1 - axis]


def test_words_that_made_nothing_and_words_in_doubt_are_marked(tmp_path: Path, visit: Open) -> None:
    told = explain(model(), "the dog sees the cat", target="das ist")
    page = opened(visit, tmp_path, told)
    linked = {link.source for link in told.links}
    idle = [word for at, word in enumerate(told.source.split()) if at not in linked]
    assert page.locator(".line .idle").all_text_contents() == idle
    unsure = [one.token.text for one in told.parts[0].target[:-1] if one.log_probability < np.log(0.495)]
    assert page.locator(".line .unsure").all_text_contents() == unsure
    assert page.locator(".key").get_by_text("made nothing").is_visible()
    assert "% sure" in page.locator(".line .unsure").first.get_attribute("aria-description")


def test_self_attention_is_shown_where_it_was_asked_for(tmp_path: Path, visit: Open) -> None:
    told = explain(model(), "the dog sees", target="das ist ein hund", detail=Detail(attention=ATTENTION_KINDS))
    page = opened(visit, tmp_path, told)
    page.get_by_label("Kind of attention").select_option("decoder")
    page.locator("canvas.cells").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    page.get_by_text(re.compile("ein ← das +[01]")).wait_for()  # the column after the start
    assert page.locator(".line .lit").all_text_contents() == ["das", "ein"]
    page.get_by_label("Kind of attention").select_option("encoder")
    page.locator("#source .word").nth(1).hover()
    assert page.locator("canvas.cells").get_attribute("aria-label").startswith("Heat map, Encoder self-attention")
    page = opened(visit, tmp_path, explain(model(), "the dog"))
    assert page.get_by_label("Kind of attention").is_hidden()


def test_what_scrolls_shows_that_there_is_more(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(), "the dog"), viewport={"width": 390, "height": 800})
    path = page.locator(".path")
    assert path.evaluate("node => node.scrollWidth > node.clientWidth")
    page.wait_for_selector(".path.more-after:not(.more-before)")
    path.evaluate("node => { node.scrollLeft = 40; }")
    page.wait_for_selector(".path.more-after.more-before")
    path.evaluate("node => { node.scrollLeft = node.scrollWidth; }")
    page.wait_for_selector(".path.more-before:not(.more-after)")


def test_nothing_in_a_text_runs(tmp_path: Path, visit: Open) -> None:
    text = " ".join([WICKED[0], "the", "dog", '<img src=x onerror="alert(1)">'])
    page = opened(visit, tmp_path, explain(model(), text, target=text))
    page.get_by_role("button", name="Words", exact=True).click()
    assert "".join(page.locator("#source .word").all_text_contents()) == text.replace(" ", "")
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


def test_copied_words_are_marked(tmp_path: Path, visit: Open) -> None:
    torch.manual_seed(1)
    own = model(Seq2seq(width=8, copy=Copying()))
    with torch.no_grad():
        own.models[0].output.gate.bias.fill_(0.0)
    page = opened(visit, tmp_path, explain(own, "the zebra sees", target="zebra katze"))
    assert page.locator(".line .copied").all_text_contents() == ["zebra"]
    assert "copied from zebra, 100 % (g 0." in page.locator(".line .copied").get_attribute("title")
    assert page.locator(".key").get_by_text("copied from the source").is_visible()
    page.locator(".line .word", has_text="katze").click()
    assert page.locator(".origin").all_text_contents()[0].startswith("written, 100 %")


@pytest.mark.parametrize("width", [390, 1280])
def test_what_is_moved_and_what_heads_do_are_shown_for_every_kind(width: int, tmp_path: Path, visit: Open) -> None:
    detail = Detail(attention=ATTENTION_KINDS, effects=True)
    told = explain(model(), "the dog sees", target="das ist ein hund", detail=detail)
    page = opened(visit, tmp_path, told, viewport={"width": width, "height": 800})
    page.get_by_label("What is shown").select_option("moved")
    kinds = {"cross": told.parts[0].layers, "encoder": told.parts[0].encoder, "decoder": told.parts[0].decoder}
    for kind, layers in kinds.items():
        page.get_by_label("Kind of attention").select_option(kind)
        assert page.get_by_label("What is shown").input_value() == "moved"
        assert "what is moved" in page.locator("canvas.cells").get_attribute("aria-label")
        assert page.locator(".head .effect").count() == sum(len(layer.effects) for layer in layers)
        page.locator(".head").last.click()
        page.locator("canvas.cells").focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
            page.keyboard.press(key)
        page.get_by_text(f"{float(layers[-1].moved[-1, 1, 1]):.3f}").wait_for()
        page.locator("h1").evaluate("node => document.activeElement.blur()")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_without_effects_says_nothing_of_them(tmp_path: Path, visit: Open) -> None:
    page = opened(visit, tmp_path, explain(model(), "the dog", detail=Detail(effects=False)))
    assert page.locator(".head .effect").count() == 0
    note = page.get_by_label("Heads").locator("header p").text_content()
    assert "switched off" not in note
    assert "entropy" in note
