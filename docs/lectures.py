"""The pictures and notebooks of the lectures' pages, made from the pages themselves.

    python docs/lectures.py                    runs every page, writes docs/pictures/lectures and docs/notebooks
    python docs/lectures.py symmetry           one page

A page is a program: its Python blocks run one after the other. A block that makes `picture` draws the image that the
page shows next.
"""

import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).resolve().parent
PAGES = DOCS / "lectures"
NOTEBOOKS = DOCS / "notebooks"
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_IMAGE = re.compile(r"^!\[[^\]]*\]\(([^)]+)\)$", re.MULTILINE)


class Cell(NamedTuple):
    """A part of a page: text, or code with the file of the picture that it draws."""

    kind: str
    text: str
    picture: str | None = None


def names() -> list[str]:
    """The pages, by name."""
    return sorted(path.stem for path in PAGES.glob("*.md"))


def cells(name: str) -> Iterator[Cell]:
    """The parts of a page in order."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    parts = _FENCE.split(text)
    for at, part in enumerate(parts):
        if at % 2:
            image = _IMAGE.search(parts[at + 1])
            draws = re.search(r"^picture = ", part, re.MULTILINE)
            yield Cell("code", part.strip(), image[1] if image and draws else None)
        elif part.strip():
            yield Cell("markdown", part.strip())


def run(name: str) -> Iterator[tuple[str, Any]]:
    """Run a page in the working directory; gives each picture's file and figure."""
    import torch

    torch.manual_seed(1)
    space: dict[str, Any] = {"__name__": "lecture"}
    for number, cell in enumerate(cells(name), start=1):
        if cell.kind == "code":
            exec(compile(cell.text, f"{name}, part {number}", "exec"), space)
            if cell.picture is not None:
                yield cell.picture, space["picture"]


def notebook(name: str) -> dict[str, Any]:
    """The page as a notebook (format 4.5); pictures are drawn by its code, so that it needs no other file."""
    made = []
    for number, cell in enumerate(cells(name), start=1):
        lines = cell.text if cell.kind == "code" else _IMAGE.sub("", cell.text).replace("\n\n\n", "\n\n")
        lines = lines + "\npicture" if cell.picture is not None else lines
        one: dict[str, Any] = {"id": f"part-{number}", "cell_type": cell.kind, "metadata": {}}
        one["source"] = lines.strip().splitlines(keepends=True)
        if cell.kind == "code":
            one |= {"execution_count": None, "outputs": []}
        made.append(one)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {
        "cells": made,
        "metadata": kernel | {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def main(chosen: list[str]) -> None:
    """Write the pictures and notebooks of the chosen pages."""
    from regard.inspection.pictures.draw import save_figure

    NOTEBOOKS.mkdir(exist_ok=True)
    for name in chosen or names():
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            for file, figure in run(name):
                target = (PAGES / file).resolve()
                target.parent.mkdir(parents=True, exist_ok=True)
                figure.set_dpi(100)
                print(f"wrote {save_figure(figure, target)}")  # noqa: T201
            os.chdir(DOCS)
        (NOTEBOOKS / f"{name}.ipynb").write_text(
            json.dumps(notebook(name), indent=1, ensure_ascii=False) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
