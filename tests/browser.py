"""A real browser for tests of pages: chromium as the system has it, driven by playwright."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIETLY = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for the tests of a file."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'regard[dev]'")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("needs a browser: install chromium")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=list(QUIETLY))
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """Open an address, with settings of the browser; afterwards nothing failed, and nothing else was asked for."""
    contexts, complaints = [], []

    def open_page(address: str, *, allowed: tuple[str, ...] = (), **settings: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | settings)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)  # a page that loads within a second takes ten on a busy machine
        home = address.split("/")[2]

        def heard(message: Any) -> None:
            if message.type in ("error", "warning") and not any(text in message.text for text in allowed):
                complaints.append(f"console: {message.text}")

        def asked(request: Any) -> None:
            scheme, _, host, *_ = f"{request.url}//".split("/")
            if scheme not in ("blob:", "data:") and host != home:
                complaints.append(f"asked for {request.url}")

        page.on("console", heard)
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", asked)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints, "; ".join(complaints)


def drawn(page: Any, place: str, other_than: str = "") -> str:
    """What a canvas shows; with `other_than`, as soon as it shows something else: a page draws with its next frame."""
    canvas = page.locator(place).element_handle()
    changed = page.wait_for_function("([canvas, old]) => canvas.toDataURL() !== old", arg=[canvas, other_than])
    assert changed.json_value()
    return str(canvas.evaluate("canvas => canvas.toDataURL()"))
