"""What a model of each kind learns from, and how its loss is found: by the sizes that its design needs.

A model of a new kind needs a line in `ITEMS`: from a number to what one step learns from.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.data.captioned import CaptionBatch
from regard.data.framed import FramedTexts
from regard.data.graph import Graph, sorted_edges
from regard.data.hidden_patches import HiddenPatches
from regard.data.images import LabeledImages
from regard.data.masking import MaskedText
from regard.data.number_rows import RowBatch
from regard.data.pairs import Batch, collate
from regard.data.plan import BatchPosition
from regard.data.pointing import PointBatch, point_batch
from regard.data.set_examples import Scale, SetBatch, SetExample
from regard.data.set_goals import NumberGoal, set_batch
from regard.data.two_views import ViewBatch
from regard.data.windows import Streams, StreamSettings, TextWindow
from regard.models.headed import Headed
from regard.models.model import MODELS, Design
from regard.models.pictured import PICTURE_SIZES
from regard.runs.artifact import Artifact
from regard.tasks.run import Run, run_of

from .designs import built
from .writers import VOCABULARY


def pairs(number: int) -> Batch:
    """Sentences that are to be written as they were read."""
    draw = np.random.default_rng(number)
    rows = [np.append(draw.integers(4, VOCABULARY, draw.integers(1, 6)), 3).astype(np.int64) for _ in range(4)]
    return collate(rows, rows[::-1])


def text(number: int) -> TextWindow:
    """A piece of running text."""
    draw = np.random.default_rng(number).integers(4, VOCABULARY, 40)
    return Streams(draw, StreamSettings(rows=4, length=6)).at(BatchPosition())


def graph(number: int) -> Graph:
    """A ring of nodes with a few chords, every second node with a label to learn."""
    draw, nodes = np.random.default_rng(number), 9
    chords = torch.from_numpy(draw.integers(0, nodes, (2, 5)))
    ring = torch.stack((torch.arange(nodes), torch.arange(1, nodes + 1) % nodes))
    features = torch.from_numpy(draw.normal(size=(nodes, VOCABULARY))).to(torch.get_default_dtype())
    labels = torch.from_numpy(draw.integers(0, VOCABULARY, nodes))
    return Graph(features, sorted_edges(torch.cat((ring, chords), 1), nodes), labels, torch.arange(nodes) % 2 == 0)


def hidden(number: int) -> MaskedText:
    """Texts with hidden tokens."""
    draw = np.random.default_rng(number)
    lengths = torch.from_numpy(draw.integers(2, 7, 4))
    tokens = torch.from_numpy(draw.integers(4, VOCABULARY, (4, 6))) * (torch.arange(6) < lengths[:, None])
    asked = torch.arange(6) == lengths[:, None] // 2
    return MaskedText(tokens.masked_fill(asked, VOCABULARY - 1), lengths, tokens * asked)


def points(number: int) -> PointBatch:
    """Points, some of which are to be chosen, in some order."""
    draw = np.random.default_rng(number)
    rows = [draw.random((size, VOCABULARY)) for size in draw.integers(1, 6, 4)]
    return point_batch(rows, [draw.permutation(len(row))[: draw.integers(1, len(row) + 1)].tolist() for row in rows])


def sets(number: int) -> SetBatch:
    """Sets of vectors, one of them empty, each with a vector to be told."""
    draw = np.random.default_rng(number)
    scale = Scale((0.0,) * VOCABULARY, (1.0,) * VOCABULARY)
    sizes = [0, *draw.integers(1, 5, 3)]
    examples = [SetExample(draw.normal(size=(size, VOCABULARY)), tuple(draw.normal(size=VOCABULARY))) for size in sizes]
    return set_batch(examples, scale, NumberGoal(scale, "squared"))


def pictures(number: int) -> LabeledImages:
    """Pictures of noise with classes."""
    draw = np.random.default_rng(number)
    pixels = torch.from_numpy(draw.normal(size=(3, VOCABULARY, VOCABULARY, VOCABULARY))).to(torch.get_default_dtype())
    labels = torch.from_numpy(draw.integers(0, VOCABULARY, 3))
    return LabeledImages(pixels, labels, torch.ones(3))


def half_hidden(number: int) -> HiddenPatches:
    """The same pictures, some of whose patches will be hidden."""
    return HiddenPatches(pictures(number).pictures, torch.tensor([1, 2, 3]))


def rows(number: int) -> RowBatch:
    """Rows of numbers that are to be made again from a code."""
    return RowBatch(torch.from_numpy(np.random.default_rng(number).random((5, VOCABULARY))).float())


def views(number: int) -> ViewBatch:
    """Rows of numbers, and the same with noise."""
    first = rows(number).inputs
    return ViewBatch(first, first + 0.1 * rows(number + 1).inputs)


def captions(number: int) -> CaptionBatch:
    """Pictures of noise, each with a text."""
    texts = hidden(number)
    kept = torch.where(texts.wanted > 0, texts.wanted, texts.tokens)
    framed = FramedTexts(kept[:3], texts.lengths[:3], torch.zeros_like(kept[:3]))
    return CaptionBatch(pictures(number).pictures, framed)


ITEMS: Mapping[tuple[str, ...], Callable[[int], Any]] = {
    ("source", "target"): pairs,
    ("text",): text,
    ("features", "classes"): graph,
    ("coordinates",): points,
    ("elements", "outputs"): sets,
    PICTURE_SIZES: pictures,
    PICTURE_SIZES[:3]: half_hidden,
    ("numbers",): rows,
    ("numbers", "views"): views,
    ("masked", "text"): hidden,
    ("text", *PICTURE_SIZES[:3]): captions,
}


TASK_FOR: Mapping[tuple[str, ...], str] = {
    ("features", "classes"): "nodes",
    ("coordinates",): "points",
    ("elements", "outputs"): "sets",
    PICTURE_SIZES: "pictures",
    PICTURE_SIZES[:3]: "patches",
    ("numbers",): "reconstruct",
    ("numbers", "views"): "contrast",
    ("text", *PICTURE_SIZES[:3]): "captions",
}
"""the task of models that need these sizes, where the data do not tell"""


def item_for(design: Design, number: int = 0) -> Any:
    """What one step of this model learns from."""
    needs = (*(["masked"] if reads(design.where) else []), *design.needs)
    if needs not in ITEMS:
        raise LookupError(
            f"a model that needs the sizes of {', '.join(design.needs)} is new: "
            "add to ITEMS in tests/laws/items.py what it learns from"
        )
    return ITEMS[needs](number)


def reads(name: str) -> bool:
    """Whether a model reads texts and writes none; such a one is tried on masked tokens."""
    return name in MODELS.names and issubclass(built(name), Headed)


@dataclass(frozen=True)
class Feed:
    """Items of a design without end, five an epoch, as a trainer takes them."""

    design: Design

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Any]]:
        """Each position and its item, from the given one on."""
        position = position or BatchPosition()
        while True:
            yield position, item_for(self.design, 5 * position.epoch + position.index)
            position = position.next(5)


def run_with(model: Design | Mapping[str, Any]) -> Run:
    """A run of the model, with data of the kind that it learns from."""
    return run_of(tables_with(model), "law")


def tables_with(model: Design | Mapping[str, Any]) -> dict[str, Any]:
    """The tables of such a run."""
    name = model.where if isinstance(model, Design) else str(model["name"])
    needs = model.needs if isinstance(model, Design) else MODELS.get(name).needs  # type: ignore[attr-defined]
    table = {"data": {"train": [f"{side}.txt" for side in needs]}, "model": model}
    named = TASK_FOR.get(needs, "masked" if reads(name) else None)
    return table if named is None else table | {"task": named}


def artifact_of(design: Design) -> Artifact:
    """The model's file without its weights."""
    run = run_with(design)
    sizes = dict.fromkeys(design.needs, VOCABULARY)
    return Artifact(config={"model": run.to_dict()["model"]}, task=run.task.task_name(), sizes=sizes)
