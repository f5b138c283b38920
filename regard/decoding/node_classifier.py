"""A trained graph network: the classes of a graph's nodes, and what each node attends to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.record import attention_layers, record
from regard.base.errors import UsageError
from regard.data.graph import Graph
from regard.data.graph_files import GraphFile, read_graph
from regard.data.graph_objects import graph_in
from regard.data.vector_files import object_in
from regard.decoding.predictor import Prediction
from regard.decoding.vectors import EncoderInputs, VectorArray, unit
from regard.models.graph_network import GraphNetworkModel
from regard.models.headed import Pooling


@dataclass(frozen=True)
class Labeled:
    """The class of a node, with the probability of every class."""

    node: str
    label: str
    probabilities: dict[str, float]


@dataclass(frozen=True)
class Neighborhood:
    """The nodes that a node attends to, itself among them, with the attention weights of each head."""

    node: str
    neighbors: tuple[str, ...]
    weights: Float[Tensor, "heads neighbors"]


class NodeClassifier:
    """What `regard.load` returns for a graph network."""

    def __init__(
        self,
        models: Sequence[GraphNetworkModel],
        classes: tuple[str, ...],
        feature_names: tuple[str, ...],
        number: Callable[..., Graph],
        held_out: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.models, self.classes, self.feature_names, self.number = tuple(models), classes, feature_names, number
        self.held_out = held_out
        """the share of nodes that did not train, for training graphs without a split, by their fingerprints"""

    def read(self, path: str | Path) -> GraphFile:
        """A graph file, its features in the order that the model was trained with."""
        return read_graph(Path(path), self.feature_names)

    def predict(self, path: str | Path) -> list[Labeled]:
        """The class of every node of a graph."""
        return self.labels(self.read(path), path)

    def answers(self, paths: Sequence[str]) -> list[Prediction]:
        """The class of every node of some graphs, as `regard predict` prints it."""
        return [_prediction(one) for path in paths for one in self.predict(path.strip())]

    def parse(self, text: str, where: str = "graph") -> GraphFile:
        """A graph that is written as a JSON object, with `features` and `edges`."""
        return graph_in(object_in(text, where), where, self.feature_names, self.models[0].features)

    def labels(self, file: GraphFile, where: str | Path = "graph") -> list[Labeled]:
        """The class of every node of a graph that was read."""
        found = self.probabilities(self.number(file, path=Path(where)))
        return [
            Labeled(node, self.classes[int(row.argmax())], dict(zip(self.classes, row.tolist(), strict=True)))
            for node, row in zip(file.nodes, found, strict=True)
        ]

    def probabilities(self, graph: Graph) -> Float[Tensor, "nodes classes"]:
        """The probability of every class for every node, the mean over the models."""
        with torch.no_grad():
            found = [model.eval()(graph.to(_device(model))).softmax(-1).cpu() for model in self.models]
        return torch.stack(found).mean(0)

    def embed(
        self, inputs: EncoderInputs, *, pooling: Pooling | None = None, normalize: bool | None = None
    ) -> VectorArray:
        """The hidden features of each node of each graph, in order; nodes need no pooling."""
        if pooling is not None:
            raise UsageError("embed: each node has a vector of its own, so there is nothing to pool")
        rows = []
        for path in inputs:
            graph = self.number(self.read(path), path=Path(path))
            with torch.no_grad():
                model = self.models[0].eval()
                rows.append(model.hidden(graph.to(_device(model))).cpu().numpy())
        vectors: VectorArray = np.concatenate(rows)
        return unit(vectors) if normalize else vectors

    def neighborhood(self, path: str | Path, node: str, layer: str | None = None) -> Neighborhood:
        """What a node attends to in an attention layer, by default the last."""
        return self.attended(self.read(path), node, layer, path)

    def attended(
        self, file: GraphFile, node: str, layer: str | None = None, path: str | Path = "graph"
    ) -> Neighborhood:
        """The same for a graph that was read."""
        model = self.models[0]
        if node not in file.nodes:
            raise UsageError(f"{path}: has no node '{node}'; the first are: {', '.join(file.nodes[:5])}")
        names = list(attention_layers(model))
        if not names:
            raise UsageError("neighborhood: this model has no attention; gat and gatv2 have")
        graph, row = self.number(file, path=Path(path)).to(_device(model)), file.nodes.index(node)
        with torch.no_grad(), record(model.eval(), layer or names[-1], rows=[row]) as seen:
            model(graph)
        columns = graph.looped[0][graph.looped[1] == row]
        return Neighborhood(node, tuple(file.nodes[at] for at in columns.tolist()), seen.only()[0, :, 0, columns].cpu())


def _device(model: GraphNetworkModel) -> torch.device:
    return next(model.parameters()).device


def _prediction(one: Labeled) -> Prediction:
    details = {"node": one.node, "label": one.label, "probabilities": one.probabilities}
    return Prediction(f"{one.label}\t{one.probabilities[one.label]:.4f}\t{one.node}", details)
