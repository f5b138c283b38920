"""The moving picture of the README: the page that `regard serve` gives, in Chromium, while somebody types.

    python docs/film.py runs/en-de

writes docs/pictures/page.gif. Needs playwright, Chromium and Pillow (the extras dev and pictures).
"""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

OUT = Path(__file__).resolve().parent / "pictures" / "page.gif"
TEXT = "a man in an orange hat is playing with two dogs ."
SIZE = (960, 600)
SHOWN = (720, 450)
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_QUIETLY = ["--headless=new", "--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"]


def film(address: str) -> list[tuple[Image.Image, int]]:
    """The frames of the film, each with its milliseconds."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)))
    frames: list[tuple[Image.Image, int]] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_QUIETLY)
        page = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}, color_scheme="light").new_page()
        page.set_default_timeout(60_000)
        page.goto(address)

        def take(milliseconds: int) -> None:
            picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
            frames.append((picture.resize(SHOWN, Image.Resampling.LANCZOS), milliseconds))

        take(700)
        words = TEXT.split(" ")
        for count in range(2, len(words) + 1, 2):
            _type(page, " ".join(words[:count]))
            take(500)
        take(900)
        targets = page.locator("#target .word")
        for at in range(0, targets.count(), 2):
            targets.nth(at).hover()
            page.wait_for_timeout(150)
            take(650)
        page.mouse.move(5, 5)
        page.mouse.wheel(0, 380)
        page.wait_for_timeout(300)
        take(1500)
        heads = page.locator("button.head")
        for at in range(min(4, heads.count())):
            heads.nth(at * max(1, heads.count() // 4)).click()
            page.wait_for_timeout(150)
            take(900)
        browser.close()
    return frames


def _type(page: Any, text: str) -> None:
    """Write a text and wait for its translation."""
    with page.expect_response("**/explain"):
        page.fill("#text", text)
    page.wait_for_selector("#stage:not(.stale)")
    page.wait_for_timeout(150)


def main(run: str) -> None:
    """Serve the run, film its page, and write the picture."""
    command = [sys.executable, "-m", "regard", "serve", run, "--port", "0", "--seconds", "120"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = server.stdout.readline()
            address = re.search(r"http://\S+", said)
            if address is None:
                sys.exit(f"the server said: {said}")
            frames = film(address[0])
        finally:
            server.terminate()
    pictures = [picture.quantize(64, dither=Image.Dither.NONE) for picture, _ in frames]
    times = [milliseconds for _, milliseconds in frames]
    pictures[0].save(OUT, save_all=True, append_images=pictures[1:], duration=times, loop=0, optimize=True)
    print(f"wrote {OUT}: {len(frames)} frames, {OUT.stat().st_size / 1024:.0f} KiB")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
