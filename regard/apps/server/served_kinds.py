"""The kinds of served models, one class each."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from regard.apps.server.served import ServedModel
from regard.attention.record import attention_layers
from regard.base.errors import RegardError, UsageError
from regard.data.image_arrays import ImageSet
from regard.data.image_files import picture_in
from regard.data.set_examples import elements_in
from regard.data.vector_files import object_in, points_in
from regard.decoding.classifier import Classifier
from regard.decoding.filler import Filler
from regard.decoding.generator import Generator
from regard.decoding.image_classifier import ImageClassifier
from regard.decoding.node_classifier import NodeClassifier
from regard.decoding.point_solver import PointSolver
from regard.decoding.sentence_encoder import SentenceEncoder
from regard.decoding.set_predictor import SetPredictor
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.tagger import Tagger
from regard.inspection.explanation.attended_text import attend_to_row, attend_to_texts, attention_of
from regard.inspection.explanation.continuing import explain_continuation
from regard.inspection.explanation.seeing import as_bytes, see

_DATA_URL = re.compile(r"data:image/(?:png|jpeg);base64,", re.IGNORECASE)
_MOST_NEIGHBORS = 64
_CONTINUED = 40


class _TextModel(ServedModel):
    """A model that reads texts."""

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        return [{"text": one.text, **one.details} for one in self.opened.predict(list(asked))]

    def looked_at(self, asked: str) -> dict[str, Any]:
        (answer,) = self.answers([asked])
        return {"answer": answer, "attention": attend_to_texts(self.opened, asked.split("\t")).to_dict()}


class ServedClassifier(_TextModel):
    """A classifier of texts; two texts stand in one, split at a tab."""

    task: ClassVar[str] = "classify"

    @property
    def about(self) -> dict[str, Any]:
        return {"classes": list(self.opened.classes), "texts": self.opened.texts}


class ServedTagger(_TextModel):
    """A tagger of words."""

    task: ClassVar[str] = "tag"

    @property
    def about(self) -> dict[str, Any]:
        return {"tags": list(self.opened.tags)}

    def looked_at(self, asked: str) -> dict[str, Any]:
        (answer,) = self.answers([asked])
        return {"answer": answer, "attention": attend_to_row(self.opened, self.opened.line_row(asked)).to_dict()}


class ServedFiller(_TextModel):
    """A model of masked tokens."""

    task: ClassVar[str] = "fill"

    def looked_at(self, asked: str) -> dict[str, Any]:
        (answer,) = self.answers([asked])
        row = self.opened.frame.row([self.opened.tokens(asked)])
        return {"answer": answer, "attention": attend_to_row(self.opened, row).to_dict()}


class ServedEncoder(_TextModel):
    """A sentence encoder."""

    task: ClassVar[str] = "embed"

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        vectors = self.vectors(asked)
        return [{"text": f"{len(vector)} numbers", "vector": vector.tolist()} for vector in vectors]

    def looked_at(self, asked: str) -> dict[str, Any]:
        """With several lines, also the cosine of each pair of them."""
        lines = [line for line in asked.split("\n") if line.strip()] or [asked]
        vectors = self.opened.embed(lines, normalize=True)
        answer = {"text": f"{vectors.shape[1]} numbers", "lines": lines, "cosines": (vectors @ vectors.T).tolist()}
        return {"answer": answer, "attention": attend_to_texts(self.opened, lines[:1]).to_dict()}


class ServedGenerator(ServedModel):
    """A language model; what it goes on with is greedy here, and as asked under /v1/completions."""

    task: ClassVar[str] = "generate"

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        found = self.opened.generate(list(asked), Greedy(max_length=_CONTINUED))
        return [{"text": one.text, "written": one.written, "score": one.score} for (one, *_) in found]

    def looked_at(self, asked: str) -> dict[str, Any]:
        read = explain_continuation(self.opened, asked)
        coming = [{"text": word.text, "log_probability": word.log_probability} for word in read.next_words]
        return {"answer": {"text": asked, "next": coming}, "attention": attention_of(read).to_dict()}


class ServedSolver(ServedModel):
    """A pointer network: answers are positions of the given points."""

    task: ClassVar[str] = "points"
    reads: ClassVar[str] = "points"

    @property
    def about(self) -> dict[str, Any]:
        return {"width": len(self.opened.box.low), "low": list(self.opened.box.low), "span": self.opened.box.span}

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        return [{"text": one.text, **one.details} for one in self.opened.predict(list(asked))]

    def looked_at(self, asked: str) -> dict[str, Any]:
        points = points_in(object_in(asked, "q"), "q", len(self.opened.box.low))
        [[best, *_]] = self.opened.solve([points])
        steps = self.opened.looked_at(points, best.positions)
        answer = {"text": " ".join(map(str, best.positions)), "answer": list(best.positions), "score": best.score}
        return {"answer": answer, "points": points.tolist(), "steps": _rounded(steps)}


class ServedSets(ServedModel):
    """A model of sets."""

    task: ClassVar[str] = "sets"
    reads: ClassVar[str] = "set"

    @property
    def about(self) -> dict[str, Any]:
        return {"width": len(self.opened.scale.mean)}

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        return [{"text": one.text, **one.details} for one in self.opened.predict(list(asked))]

    def looked_at(self, asked: str) -> dict[str, Any]:
        (answer,) = self.answers([asked])
        elements = elements_in(object_in(asked, "q"), "q", len(self.opened.scale.mean))
        pooled = any(name.startswith("pooling") for name in attention_layers(self.opened.model))
        weights = self.opened.looked_at(elements).mean(1) if pooled and len(elements) else None
        return {"answer": answer, "elements": elements.tolist(), "heads": [] if weights is None else _rounded(weights)}


class ServedNodes(ServedModel):
    """A classifier of the nodes of a graph."""

    task: ClassVar[str] = "nodes"
    reads: ClassVar[str] = "graph"

    @property
    def about(self) -> dict[str, Any]:
        named = list(self.opened.feature_names[:20])
        return {"classes": list(self.opened.classes), "features": named, "width": self.opened.models[0].features}

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        found = [self.opened.labels(self.opened.parse(one, "q"), "q") for one in asked]
        return [
            {
                "text": "\n".join(f"{one.node}\t{one.label}" for one in nodes),
                "nodes": [{"node": one.node, "label": one.label, "probabilities": one.probabilities} for one in nodes],
            }
            for nodes in found
        ]

    def looked_at(self, asked: str) -> dict[str, Any]:
        """The neighbors of the node that `node` names, by default the first."""
        file, told = self.opened.parse(asked, "q"), object_in(asked, "q")
        (answer,) = self.answers([asked])
        node = str(told.get("node", file.nodes[0]))
        seen = None
        if attention_layers(self.opened.models[0]):
            seen = self.opened.attended(file, node, path="q")
        elif node not in file.nodes:
            raise UsageError(f"q: has no node '{node[:60]}'")
        order = [] if seen is None else seen.weights.mean(0).argsort(descending=True)[:_MOST_NEIGHBORS].tolist()
        neighbors = [] if seen is None else [seen.neighbors[at] for at in order]
        heads = [] if seen is None else _rounded(seen.weights[:, order])
        edges = [[file.nodes[one], file.nodes[other]] for one, other in file.edges.T.tolist()]
        return {"answer": answer, "node": node, "neighbors": neighbors, "heads": heads, "edges": edges}


class ServedPictures(ServedModel):
    """A classifier of pictures; a picture is sent as its PNG or JPEG file in base64, never by a name."""

    task: ClassVar[str] = "pictures"
    reads: ClassVar[str] = "picture"

    @property
    def about(self) -> dict[str, Any]:
        shape = self.opened.shape
        return {"classes": list(self.opened.classes), "shape": [shape.channels, shape.height, shape.width]}

    def answers(self, asked: Sequence[str]) -> list[dict[str, Any]]:
        found = [self.opened.labelings(self._read(one))[0] for one in asked]
        return [
            {
                "text": f"{one.labels[0]}\t{one.probabilities[one.labels[0]]:.4f}",
                "labels": list(one.labels),
                "probabilities": one.probabilities,
            }
            for one in found
        ]

    def looked_at(self, asked: str) -> dict[str, Any]:
        (answer,) = self.answers([asked])
        images = self._read(asked)
        if not attention_layers(self.opened.model):
            pixels = as_bytes(images.pixels[0])
            return {"answer": answer, "shape": list(pixels.shape), "seen": None}
        return {"answer": answer, "seen": {**see(self.opened, images).to_dict(), "model": self.name}}

    def _read(self, asked: str) -> ImageSet:
        if getattr(self.opened.model, "asks", False):
            raise UsageError(f"{self.name}: answers questions about pictures, which are not served")
        try:
            content = base64.b64decode(_DATA_URL.sub("", asked.strip(), count=1), validate=True)
        except (binascii.Error, ValueError) as error:
            raise RegardError("q: must be a PNG or JPEG file in base64") from error
        return picture_in(content, self.opened.shape, "q")


SERVED_KINDS: dict[type, type[ServedModel]] = {
    Classifier: ServedClassifier,
    Tagger: ServedTagger,
    Filler: ServedFiller,
    SentenceEncoder: ServedEncoder,
    Generator: ServedGenerator,
    PointSolver: ServedSolver,
    SetPredictor: ServedSets,
    NodeClassifier: ServedNodes,
    ImageClassifier: ServedPictures,
}
"""what `regard.load` returns, and how it is served"""


def as_text(asked: str | dict[str, Any]) -> str:
    """An input as text: an object as JSON."""
    return asked if isinstance(asked, str) else msgspec.json.encode(asked).decode()


def _rounded(weights: Any) -> list[Any]:
    found: list[Any] = weights.double().round(decimals=4).tolist()
    return found
