"""regard inspect, as it is called."""

import json
import re
from pathlib import Path
from typing import Any

from tests.apps import toy
from tests.apps.running import Run
from tests.browser import Open, browser, visit

__all__ = ["browser", "visit"]

TEXT = "the big dog sees the small cat"


def told(page: Path) -> dict[str, Any]:
    """The explanation that a page holds."""
    [data] = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(data)
    return found


def test_a_page_shows_what_the_model_says(home: Path, run: Run) -> None:
    said, depends, wrote = run("inspect", "runs/en-de", TEXT).lines
    assert wrote == "wrote inspect.html"
    assert re.match(r"the answer depends most on head \d of layer \d: without it", depends)
    assert run("inspect", "runs/en-de", TEXT, "--no-effects", "--out", "quick.html").lines == [said, "wrote quick.html"]
    assert '"effect":' not in (home / "quick.html").read_text(encoding="utf-8")
    [right] = run("translate", "runs/en-de", stdin=f"{TEXT}\n").lines
    assert said == right
    found = told(home / "inspect.html")
    assert (found["source"]["text"], found["target"]["text"]) == (TEXT, right)
    assert found["parts"][0]["path"]


def test_what_a_trained_model_links_is_right(home: Path, run: Run) -> None:
    run("inspect", "runs/en-de", TEXT, "--target", toy.translation(TEXT), "--out", "given.html")
    found = told(home / "given.html")
    assert found["parts"][0]["path"] == []
    assert all(token["forced"] for token in found["parts"][0]["target"])
    right = sum(link["source"] == link["target"] for link in found["links"])
    assert right >= 5  # of seven words, translated word by word


def test_a_folder_gets_the_page_and_pictures(home: Path, run: Run) -> None:
    lines = run("inspect", "runs/en-de", TEXT, "--out", "looked/at", "--png", "--svg").lines
    names = ["inspect.html", "inspect-layer-1.png", "inspect-layer-1.svg"]
    assert lines[2:] == [f"wrote {Path('looked/at', name)}" for name in names]
    assert (home / "looked/at/inspect-layer-1.png").read_bytes().startswith(b"\x89PNG")
    assert "big" in (home / "looked/at/inspect-layer-1.svg").read_text(encoding="utf-8")


def test_self_attention_is_written_on_request(home: Path, run: Run) -> None:
    run("inspect", "runs/en-de", TEXT)
    found = told(home / "inspect.html")
    assert (found["model"], found["parts"][0]["encoder"], found["parts"][0]["decoder"]) == ("en-de", [], [])
    run("inspect", "runs/en-de", TEXT, "--attention", "all")
    found = told(home / "inspect.html")
    for kind in ("encoder", "decoder"):
        assert bool(found["parts"][0][kind]) == (kind in found["attention"])
    wrong = run("inspect", "runs/en-de", TEXT, "--attention", "al").sentence
    assert "unknown 'al' (did you mean 'all'?)" in wrong


def test_the_search_can_be_chosen(home: Path, run: Run) -> None:
    run("inspect", "runs/en-de", TEXT, "--beam", 2, "--prefix", "kleine")
    found = told(home / "inspect.html")
    assert found["target"]["text"].startswith("kleine")
    assert max(len(step) for step in found["parts"][0]["path"]) <= 4


def test_mistakes_are_told_in_a_sentence(home: Path, run: Run) -> None:
    assert "no text" in run("inspect", "runs/en-de", " ").sentence
    assert "a language model; --target" in run("inspect", "runs/lm", TEXT, "--target", "das").sentence
    assert "there is no such file or folder" in run("inspect", "runs/none", TEXT).sentence
    assert "not both" in run("inspect", "runs/en-de", TEXT, "--target", "das", "--prefix", "das").sentence
    assert "the text is not UTF-8" in run("inspect", "runs/en-de", "\udcff").sentence
    assert "is a file" in run("inspect", "runs/en-de", TEXT, "--out", "run.toml").sentence
    assert not (home / "inspect.html").exists()


def test_the_page_opens(home: Path, run: Run, visit: Open) -> None:
    said, *_ = run("inspect", "runs/en-de", TEXT).lines
    page = visit((home / "inspect.html").as_uri())
    assert page.title() == f"{TEXT} → {said}"
    page.get_by_role("button", name=said.split()[1], exact=True).first.hover()
    assert page.locator("#target .pointed").text_content() == said.split()[1]
    assert page.locator("#source .lit").count() == 1
