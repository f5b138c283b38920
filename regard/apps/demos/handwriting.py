"""regard demo digits: a small vision Transformer reads handwritten digits."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import typer

from regard.apps.demonstration import Demonstration, draw_to


@dataclass(frozen=True)
class Handwriting(Demonstration):
    """Handwritten digits of 8 × 8 pixels, by attention between patches."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = "read handwritten digits (a vision Transformer)"

    def show(self, folder: Path) -> None:
        from regard.data.digits import write_digits
        from regard.inspection.explanation.seeing import see
        from regard.tasks.pictures import Pictures
        from regard.tasks.task import Evaluation

        test = write_digits(folder)["test"]
        classifier: Any = self.trained(folder)
        score = Pictures.evaluate(classifier, [test], Evaluation())[0]
        typer.echo(f"{score}; these pictures it has never seen")
        seen = see(classifier, classifier.read(test), 0)
        label = seen.labeling.labels[0]
        typer.echo(f"\n  the first of them  →  {label}, {seen.labeling.probabilities[label]:.1%}")

        def figure() -> object:
            from regard.inspection.pictures.overlay import overlay_picture

            return overlay_picture(seen)

        draw_to(folder / "digits.png", figure, "What it looked at, in every layer and head")
        typer.echo(f"\nAnother, on a page:  regard inspect {folder / 'runs' / 'digits'} {test} --number 7")
