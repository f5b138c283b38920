"""Train Regard's Transformer by its own trainer, with its defaults.

Other sizes may be given as JSON, then lanes; or, instead of both, the precision.
"""

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from training import BETAS, CLIP, EPSILON, RATE, SMOOTHING, Gate, read_batches, walk

from regard.data.pairs import Batch
from regard.data.plan import BatchPosition
from regard.models.transformer import Transformer
from regard.runs.folder import RunFolder
from regard.tasks.texts import DataSettings
from regard.tasks.translate import Translate
from regard.training.loss import CrossEntropy
from regard.training.optimizers.adam import Adam
from regard.training.progress import Progress, StepReport
from regard.training.settings import Precision, TrainingSettings
from regard.training.trainer import Trainer


class Feed:
    """What the trainer takes for its loader: the batches of the file, without end."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = [Batch(**vars(batch)) for batch in batches]

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Batch]]:
        """Each position and its batch."""
        for at, batch in enumerate(walk(self.batches)):
            yield BatchPosition(index=at), batch


class Turns(Progress):
    """Holds the trainer after each turn."""

    def __init__(self, tokens: list[int]) -> None:
        self._tokens, self._gate = tokens, Gate()

    def stepped(self, report: StepReport) -> None:
        """Count the step."""
        self._gate.passed(self._tokens[(report.step - 1) % len(self._tokens)], report.loss)


def main() -> None:
    """Train until the process is ended."""
    batches, vocabulary = read_batches(sys.argv[1])
    precision: Precision = sys.argv[2] if sys.argv[2:] in (["float32"], ["bfloat16"]) else "auto"
    given = [] if precision != "auto" else sys.argv[2:]
    settings = TrainingSettings(
        optimizer=Adam(learning_rate=RATE, betas=BETAS, epsilon=EPSILON),
        schedule="constant",
        clip=CLIP,
        steps=10_000_000,
        validate_every=10_000_000,
        checkpoint_every=10_000_000,
        lanes=int(given[1]) if len(given) > 1 else None,
        precision=precision,
    )
    torch.manual_seed(1)
    sizes = json.loads(given[0]) if given else {}
    model = Transformer.preset("tiny", **sizes).build({"source": vocabulary, "target": vocabulary})
    folder = RunFolder(Path(tempfile.mkdtemp()))
    task = Translate(data=DataSettings(train=()), cross_entropy=CrossEntropy(smoothing=SMOOTHING))
    turns = Turns([batch.count for batch in batches])
    Trainer(model, Feed(batches), settings, folder, objective=task.loss, progress=turns).run()


if __name__ == "__main__":
    main()
