"""The files of the page, and the page in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.inspection.page import assets as files
from regard.inspection.page.standalone import PAGE
from tests.browser import Open, browser, drawn, visit
from tests.inspection.page.serving import Site, model, serving

__all__ = ["browser", "visit"]

TEXT = "the dog sees the cat"
SOURCES = [path for folder in (files.HERE, PAGE) for path in sorted(folder.iterdir()) if path.suffix in files.TYPES]


def name(path: Path) -> str:
    return path.name


def test_the_page_and_what_it_loads_are_there() -> None:
    page = files.index()
    assert page.media_type == "text/html; charset=utf-8"
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page.content.decode())
    assert loaded
    for path in loaded:
        if path == "docs":
            continue  # a page of the server's own
        folder, _, file = path.partition("/")
        assert folder == "assets"
        assert files.asset(file) is not None, file


@pytest.mark.parametrize(
    "wrong", ["", "nothing.js", "index.html", "files.py", "../files.py", "page/style.css", "/etc/passwd"]
)
def test_nothing_else_can_be_asked_for(wrong: str) -> None:
    assert files.asset(wrong) is None


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix == ".js"], ids=name)
def test_modules_import_what_is_there_and_insert_texts_as_texts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for imported, module in re.findall(r'^import \{([^}]+)\} from "\./([\w-]+\.js)";$', text, re.MULTILINE):
        found = files.asset(module)
        assert found is not None, module
        for wanted in imported.split(","):
            pattern = rf"^export (?:async )?(?:function|class|const) {wanted.strip()}\b"
            assert re.search(pattern, found.content.decode(), re.MULTILINE), f"{module} has no {wanted}"
    assert len(re.findall(r"^import ", text, re.MULTILINE)) == len(re.findall(r'^import \{.*";$', text, re.MULTILINE))
    unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"on"
    assert not re.search(unsafe, text)


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_file_names_another_host(path: Path) -> None:
    named = set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+", path.read_text(encoding="utf-8")))
    assert named <= {"http://www.w3.org"}  # the name of SVG, which nobody loads


# In a browser


@pytest.fixture(scope="module")
def shared_site() -> Iterator[Site]:
    with serving(model()) as site:
        yield site


@pytest.fixture
def site(shared_site: Site) -> Site:
    shared_site.asked.clear()
    shared_site.refusal = shared_site.key = None
    shared_site.hold.set()
    return shared_site


def typed(page: Any, text: str = TEXT) -> Any:
    """Type, and wait for the translation."""
    page.locator("#text").fill(text)
    page.wait_for_selector("#stage:not(.stale) #target .word")
    return page


def words(page: Any, kind: str = "", side: str = "#target") -> list[str]:
    return page.locator(f"{side} .word{kind}").all_text_contents()


def test_typing_shows_the_translation_and_its_links(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    told = site.translator.translate([TEXT])[0].text
    assert " ".join(words(page)) == told
    assert words(page, side="#mirror") == TEXT.split()
    assert words(page, side=".pair .line:last-child") == told.split()
    assert page.locator(".link").count() == len(told.split())
    assert page.locator("#inspector").is_visible()
    asked = {"q": TEXT, "source": "en", "target": "de", "prefix": "", "at": len(TEXT), "attention": "cross"}
    assert site.asked[-1] == asked
    assert page.locator("#model").text_content() == "toy"
    page.locator("#text").fill("")
    page.wait_for_selector("#target .word", state="detached")
    assert page.locator("#inspector").is_hidden()


QUICKLY = """(box, text) => {  // all letters within one task, so that no busy machine comes between them
  for (let end = 1; end <= text.length; end++) {
    box.value = text.slice(0, end)
    box.dispatchEvent(new Event("input", { bubbles: true }))
  }
}"""


def test_quick_typing_asks_once_and_old_answers_are_dropped(site: Site, visit: Open) -> None:
    page = visit(site.address)
    page.locator("#text").evaluate(QUICKLY, "the cat")
    page.wait_for_selector("#target .word")
    assert [question["q"] for question in site.asked] == ["the cat"]
    site.hold.clear()
    page.locator("#text").fill("the dog")
    page.get_by_text("Translating …").wait_for()
    page.locator("#text").fill("the house")
    site.hold.set()
    page.wait_for_selector("#stage:not(.stale)")
    assert " ".join(words(page)) == site.translator.translate(["the house"])[0].text


def test_pointing_lights_a_word_and_what_made_it(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    page.locator("#target .word").nth(1).hover()
    assert words(page, ".pointed") == words(page)[1:2]
    assert page.locator(".link.lit").count() == 1
    assert len(words(page, ".lit", "#mirror")) == 1
    lit = page.locator("#mirror .word.lit")
    box = lit.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert page.locator("#mirror .word.pointed").count() == 1
    assert words(page)[1] in words(page, ".lit")
    page.mouse.move(5, 5)
    assert page.locator(".lit").count() == 0


def test_the_keyboard_reaches_everything(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    page.locator("#text").focus()
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowLeft")
    assert words(page, ".pointed", "#mirror") == ["cat"]
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowDown")
    assert words(page, ".pointed") == words(page)[:1]
    page.keyboard.press("ArrowRight")
    assert words(page, ".pointed") == words(page)[1:2]
    page.keyboard.press("Enter")
    assert page.get_by_role("dialog").is_visible()
    page.keyboard.press("Escape")
    assert page.get_by_role("dialog").count() == 0
    assert page.evaluate("document.activeElement.textContent") == words(page)[1]
    page.locator(".pair .line .word").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "dog"
    assert words(page, ".pointed", "#mirror") == ["dog"]
    page.locator("canvas.cells").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.get_by_text(re.compile(r" ← dog +[01]\.")).wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_label("Heat map, Cross-attention, layer 2, head 2").wait_for()


def test_a_touch_lights_a_word(site: Site, visit: Open) -> None:
    page = typed(visit(site.address, has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844}))
    page.locator("#target .word").nth(2).tap()
    assert page.locator(".link.lit").count() == 1
    assert page.get_by_role("dialog").is_visible()


def test_layers_and_heads_are_chosen_in_two_ways(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    cells = page.locator("canvas.cells")
    assert page.locator(".head").count() == 6
    assert page.locator(".head[aria-pressed=true]").count() == 2  # all heads of one layer
    before = drawn(page, "canvas.cells")
    page.get_by_label("Layer", exact=True).select_option("0")
    page.get_by_label("Head", exact=True).select_option("1")
    page.get_by_label("Heat map, Cross-attention, layer 1, head 2").wait_for()
    assert drawn(page, "canvas.cells", other_than=before) != before
    page.get_by_label(re.compile("Layer 3, head 1: entropy .* bits")).click()
    assert "layer 3, head 1" in cells.get_attribute("aria-label")
    assert page.get_by_label("Layer", exact=True).input_value() == "2"


def test_an_alternative_is_chosen_and_let_go(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    first = words(page)
    page.locator("#target .word").nth(1).click()
    other = page.get_by_role("dialog").locator("button").first
    wanted = other.locator(".token").text_content()
    other.click()
    page.wait_for_selector("#release:not([hidden])")
    assert words(page)[:2] == [first[0], wanted]
    assert words(page, ".given", ".pair") == words(page)[:2]
    assert site.asked[-1]["prefix"] == f"{first[0]} {wanted}"
    page.locator("#release").click()
    page.wait_for_selector("#release", state="hidden")
    assert words(page) == first


def test_languages_are_swapped_with_their_texts(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    said = " ".join(words(page))
    page.get_by_label("Swap the languages").click()
    page.wait_for_selector("#target[lang=en] .word")
    assert page.locator("#text").input_value() == said
    assert (site.asked[-1]["source"], site.asked[-1]["target"], site.asked[-1]["q"]) == ("de", "en", said)


def test_tokens_are_linked_by_the_heads_that_are_shown(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    page.get_by_role("button", name="Tokens", exact=True).click()
    assert page.locator(".link").count() >= len(words(page))
    before = page.locator(".links").evaluate("links => links.outerHTML")
    page.get_by_label("Layer", exact=True).select_option("0")
    assert page.locator(".links").evaluate("links => links.outerHTML") != before


def test_colors_follow_the_system_until_the_reader_chooses(site: Site, visit: Open) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit(site.address, color_scheme="light"), visit(site.address, color_scheme="dark")
    bright, dim = light.evaluate(ground), dark.evaluate(ground)
    assert bright != dim
    typed(light).get_by_label("Use dark colors").click()
    assert light.evaluate(ground) == dim
    light.reload()
    assert light.evaluate(ground) == dim


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(scheme: str, site: Site, visit: Open) -> None:
    page = typed(visit(site.address, color_scheme=scheme))
    names = page.evaluate(
        "['ink', 'quiet', 'accent', 'paper', 'ground'].map("
        "name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim())"
    )
    ink, quiet, accent, paper, ground = map(luminance, names)
    for color in (ink, quiet, accent):
        for below in (paper, ground):
            light, dark = max(color, below), min(color, below)
            assert (light + 0.05) / (dark + 0.05) >= 4.5  # WCAG 2.2, contrast for text


def luminance(color: str) -> float:
    """The relative luminance of #rrggbb, as WCAG defines it."""
    shares = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("width", [320, 390, 820, 1280])
def test_no_width_makes_the_page_scroll_sideways(width: int, site: Site, visit: Open) -> None:
    page = typed(visit(site.address, viewport={"width": width, "height": 844}), " ".join([TEXT] * 3))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_mirror_stands_exactly_behind_the_field(site: Site, visit: Open) -> None:
    page = typed(visit(site.address, viewport={"width": 390, "height": 844}), " ".join([TEXT] * 4))
    field, mirror = page.locator("#text").bounding_box(), page.locator("#mirror").bounding_box()
    assert field == mirror
    sizes = page.locator("#text").evaluate(
        "field => [field.scrollHeight, field.clientHeight, field.scrollWidth, field.clientWidth]"
    )
    assert sizes[0] <= sizes[1] + 1
    assert sizes[2] == sizes[3]


def test_one_sentence_of_many_is_looked_into(site: Site, visit: Open) -> None:
    site.translator.max_source = 5
    try:
        page = typed(visit(site.address), "the dog sees the cat and the house")
        count = page.locator("#target .word.whole").count()
        assert count >= 1  # these are only translated
        page.get_by_text(f"sentence {count + 1} of {count + 1}").wait_for()
        assert page.locator("#mirror .picked").last.text_content() == "house"
        page.locator("#target .word.whole").first.click()
        page.get_by_text(f"sentence 1 of {count + 1}").wait_for()
        assert site.asked[-1]["at"] == 0
        assert page.locator("#mirror .picked").first.text_content() == "the"
        assert words(page, side=".pair .line:first-of-type")[:2] == ["the", "dog"]
        page.get_by_label("Next sentence").click()
        page.get_by_text(f"sentence 2 of {count + 1}").wait_for()
        assert words(page, side="#target") == words(page, side="#target")
    finally:
        site.translator.max_source = None


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_the_mark_of_a_sentence_covers_none_of_its_signs(direction: str, site: Site, visit: Open) -> None:
    page = visit(site.address)
    page.evaluate(
        """direction => {
          const line = document.body.appendChild(document.createElement("p"));
          line.dir = direction;
          for (const [text, space] of [["المدينة", " "], ["القديمة", ""], [".", ""]]) {
            const word = line.appendChild(document.createElement("span"));
            word.className = "word picked made";
            word.textContent = text;
            line.append(space);
          }
        }""",
        direction,
    )
    dot = page.locator(".made").last
    marked = dot.screenshot()
    page.locator(".made").nth(1).evaluate("word => { word.style.boxShadow = 'none'; }")
    assert dot.screenshot() == marked


def test_a_sentence_that_is_too_long_is_translated_and_told(site: Site, visit: Open) -> None:
    page = typed(visit(site.address), "the dog " * 140)
    page.get_by_text("This sentence is too long to look into.").wait_for()
    assert page.locator("#inspector").is_hidden()
    assert words(page) != []


def test_self_attention_is_fetched_when_it_is_chosen(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    cells = page.locator("canvas.cells")
    for kind, heads in (("encoder", 2), ("decoder", 6), ("cross", 6)):
        page.get_by_label("Kind of attention").select_option(kind)
        page.get_by_label(re.compile(f"Heat map, {kind}", re.IGNORECASE)).wait_for()
        assert page.locator(".head").count() == heads
        assert page.get_by_label("Kind of attention").input_value() == kind
    assert [question["attention"] for question in site.asked] == ["cross", "all"]
    assert cells.is_visible()


def test_text_and_languages_stand_in_the_address_and_never_reach_the_server(site: Site, visit: Open) -> None:
    page = typed(visit(site.address), "the dog & the cat #1")
    page.wait_for_url(re.compile("#.*text="))
    site.paths.clear()
    page.reload()
    page.wait_for_selector("#stage:not(.stale) #target .word")
    assert page.locator("#text").input_value() == "the dog & the cat #1"
    assert not any("dog" in path for path in site.paths)
    other = visit(f"{site.address}#from=de&to=en&text=die+katze%0Aund")
    other.wait_for_selector("#target .word")
    assert other.locator("#text").input_value() == "die katze\nund"
    assert (site.asked[-1]["source"], site.asked[-1]["target"]) == ("de", "en")
    other.locator("#text").fill("")
    other.wait_for_url(lambda url: "#" not in url)


def test_the_detected_language_is_told(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    page.get_by_label("Translate from").select_option("auto")
    page.locator("#from option", has_text="German (detected)").wait_for(state="attached")
    assert page.locator("#text").get_attribute("lang") == "de"
    page.locator("#to").select_option("de")
    typed(page, "das ist ein hund")
    page.get_by_text("The text is German already").wait_for()
    assert words(page) == ["das ist ein hund"]
    assert page.locator("#inspector").is_hidden()
    assert page.get_by_role("link", name="API").get_attribute("href") == "docs"


@pytest.mark.parametrize("width", [390, 1280])
def test_a_very_long_word_stays_inside(width: int, site: Site, visit: Open) -> None:
    word = "Donaudampfschiff" * 6
    page = typed(visit(site.address, viewport={"width": width, "height": 844}), f"the {word}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        "[...document.querySelectorAll('main *')].filter(node => !node.closest('.scrolls')"
        " && node.getClientRects().length && node.getBoundingClientRect().right > innerWidth + 0.5)"
        ".map(node => node.outerHTML.slice(0, 80))"
    )
    assert outside == []
    shown = page.locator(".strip .line .word").nth(1)
    assert shown.text_content() == f"{word[:14]}…{word[-13:]}"
    assert shown.get_attribute("aria-label") == word


def test_markup_that_is_typed_is_text(site: Site, visit: Open) -> None:
    wicked = '<script>alert(1)</script> <img src=x onerror="alert(1)"> the dog'
    page = visit(site.address)
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    typed(page, wicked)
    assert page.locator("#mirror").text_content().rstrip("\u200b") == wicked
    assert page.locator("#mirror script, #mirror img, #target script, #target img").count() == 0


def test_a_refusal_is_told_and_gone_with_the_next_answer(site: Site, visit: Open) -> None:
    page = typed(visit(site.address, allowed=("429",)))
    site.refusal = (429, "Slow down")
    page.locator("#text").fill("the cat")
    page.wait_for_selector("#trouble:not([hidden])")
    assert page.get_by_role("alert").text_content() == "Slow down. Try again in 7 s."
    site.refusal = None
    typed(page, "the house")
    assert page.get_by_role("alert").count() == 0


def test_a_server_that_wants_a_key_gets_it(site: Site, visit: Open) -> None:
    site.key = "sesame"
    page = visit(site.address, allowed=("403",))
    page.locator("#text").fill(TEXT)
    page.get_by_label("API key").fill("sesame")
    assert "asks for an API key" in page.get_by_role("alert").text_content()
    page.get_by_role("button", name="Use this key").click()
    page.wait_for_selector("#target .word")
    assert page.get_by_label("API key").is_hidden()
    page.reload()
    typed(page)


def test_a_server_that_is_gone_is_told(visit: Open) -> None:
    with serving(model()) as site:
        page = visit(site.address, allowed=("ERR_CONNECTION_REFUSED",))
        page.wait_for_selector("#from option", state="attached")
    page.locator("#text").fill("the cat")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "The server cannot be reached" in page.get_by_role("alert").text_content()


def test_translations_and_pictures_are_taken_away(site: Site, visit: Open) -> None:
    page = typed(visit(site.address, permissions=["clipboard-read", "clipboard-write"]))
    page.get_by_role("button", name="Copy", exact=True).click()
    page.get_by_text("Copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == " ".join(words(page))
    starts = {"SVG": b"<svg xmlns=", "PNG": b"\x89PNG"}
    for kind, start in starts.items():
        for which in ("the links", "the heat map"):
            with page.expect_download() as waiting:
                page.get_by_label(f"Download {which} as {kind}").click()
            content = Path(waiting.value.path()).read_bytes()
            assert waiting.value.suggested_filename.endswith(kind.lower())
            assert content.startswith(start)
            if kind == "SVG":
                assert all(word.encode() in content for word in words(page))


def test_readers_who_want_no_motion_get_none(site: Site, visit: Open) -> None:
    page = typed(visit(site.address, reduced_motion="reduce"))
    moving = "word => getComputedStyle(word).transitionDuration"
    assert page.locator("#target .word").first.evaluate(moving) == "0s"


def test_everything_that_can_be_pressed_has_a_name(site: Site, visit: Open) -> None:
    page = typed(visit(site.address))
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, textarea, [tabindex=\"0\"]')]"
        ".filter(node => node.offsetParent && !(node.getAttribute('aria-label') || node.textContent.trim()))"
        ".map(node => node.outerHTML)"
    )
    assert nameless == []
