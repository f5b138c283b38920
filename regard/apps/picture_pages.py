"""Pages and pictures of what a model of pictures looks at, for `regard inspect` and `regard draw`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.base.errors import UsageError
from regard.base.files import write_text

if TYPE_CHECKING:
    from regard.inspection.explanation.seeing import Seen


def seen_picture(classifier: Any, place: str, number: int | None, model: Path, *, effects: bool = True) -> "Seen":
    """What the model sees in a picture file, or in one picture of a file of arrays."""
    from regard.inspection.explanation.seeing import see

    images = classifier.read(place)
    if number is None and len(images.which) > 1:
        raise UsageError(f"{place}: holds {len(images.which):,} pictures; choose one with --number, counted from 0")
    return replace(see(classifier, images, number or 0, effects=effects), model=model.stem)


def write_seen(seen: "Seen", page: Path) -> None:
    """Write the page, and print the answer."""
    label = seen.labeling.labels[0]
    write_text(page, seen.to_html(f"{seen.name}: {label}"))
    typer.echo(f"{label}\t{seen.labeling.probabilities[label]:.4f}")
    typer.echo(f"wrote {page}")


def place_of(text: str | None) -> tuple[int, int] | None:
    """A pixel that is written as ROW,COLUMN."""
    if text is None:
        return None
    try:
        row, column = (int(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"--at: must be the row and column of a pixel, as in 12,5, but is '{text}'") from error
    return row, column
