"""Generated questions about pictures of shapes: Sort-of-CLEVR.

A picture has six objects of six colors, each a square or a circle. Ten questions name a color and ask about that object
alone (its shape; is it on the left; is it on top), ten about its relation to the others (the shape of the nearest; the
shape of the farthest; how many have its shape). A question is 6 numbers for the color, 2 for the kind and 3 for what is
asked.

Santoro et al., A Simple Neural Network Module for Relational Reasoning, 2017, https://arxiv.org/abs/1706.01427
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import check_at_least
from regard.base.files import replacing

ANSWERS = ("yes", "no", "square", "circle", "1", "2", "3", "4", "5", "6")
COLORS = ((230, 40, 40), (40, 160, 60), (50, 80, 230), (240, 150, 30), (130, 130, 130), (240, 220, 50))
RELATIONAL, PLAIN = 1, 0
_PER_KIND = 10


def relation_pictures(count: int, size: int = 75, seed: int = 1) -> dict[str, NDArray[Any]]:
    """So many pictures, with `questions` about them, the picture `which` each is about, `labels` and `kinds`."""
    check_at_least("relations", 1, count=count)
    check_at_least("relations", 30, size=size)
    draw = np.random.default_rng(seed)
    radius = max(2, round(size / 15))
    pictures = np.full((count, size, size, 3), 255, dtype=np.uint8)
    rows: list[tuple[int, NDArray[Any], str, int]] = []
    for number in range(count):
        places, squares = _places(draw, size, radius), draw.random(len(COLORS)) < 0.5
        _paint(pictures[number], places, squares, radius)
        for kind in (PLAIN, RELATIONAL):
            for _ in range(_PER_KIND):
                color, asked = int(draw.integers(len(COLORS))), int(draw.integers(3))
                question = np.zeros(11, dtype=np.float32)
                question[[color, 6 + kind, 8 + asked]] = 1
                rows.append((number, question, _answer(kind, asked, color, places, squares, size), kind))
    which, questions, labels, kinds = zip(*rows, strict=True)
    return {
        "pictures": pictures,
        "questions": np.stack(questions),
        "which": np.array(which),
        "labels": np.array(labels),
        "kinds": np.array(kinds),
    }


def write_relations(folder: Path, counts: dict[str, int], size: int = 75, seed: int = 1) -> dict[str, Path]:
    """Write NAME.npz for each set, and NAME-relational.npz and NAME-plain.npz with the questions of one kind."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for at, (name, count) in enumerate(counts.items()):
        arrays = relation_pictures(count, size, seed + at)
        for end, kind in (("", None), ("-relational", RELATIONAL), ("-plain", PLAIN)):
            chosen = np.ones(len(arrays["kinds"]), dtype=bool) if kind is None else arrays["kinds"] == kind
            made[name + end] = folder / f"{name}{end}.npz"
            kept = {part: arrays[part][chosen] for part in ("questions", "which", "labels")}
            with replacing(made[name + end]) as file:
                np.savez_compressed(file, pictures=arrays["pictures"], **kept)
    return made


def _places(draw: np.random.Generator, size: int, radius: int) -> NDArray[Any]:
    """The middles of the objects, which do not overlap."""
    while True:
        places = draw.integers(radius, size - radius, (len(COLORS), 2))
        apart = np.abs(places[:, None] - places[None]).max(-1) + 10 * radius * np.eye(len(COLORS))
        if apart.min() > 2 * radius:
            return places


def _paint(picture: NDArray[Any], places: NDArray[Any], squares: NDArray[Any], radius: int) -> None:
    row, column = np.mgrid[: len(picture), : len(picture)]
    for (down, right), square, color in zip(places, squares, COLORS, strict=True):
        away = np.stack([np.abs(row - down), np.abs(column - right)])
        inside = away.max(0) <= radius if square else (away**2).sum(0) <= (radius + 0.5) ** 2
        picture[inside] = color


def _answer(kind: int, asked: int, color: int, places: NDArray[Any], squares: NDArray[Any], size: int) -> str:
    shapes = ["square" if square else "circle" for square in squares]
    if kind == PLAIN:
        middle = size / 2
        return [shapes[color], _yes(places[color, 1] < middle), _yes(places[color, 0] < middle)][asked]
    away = ((places - places[color]) ** 2).sum(-1).astype(float)
    if asked == 0:
        away[color] = np.inf
        return shapes[int(away.argmin())]
    return shapes[int(away.argmax())] if asked == 1 else str(int((squares == squares[color]).sum()))


def _yes(true: Any) -> str:
    return "yes" if true else "no"
