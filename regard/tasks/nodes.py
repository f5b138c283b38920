"""Node classification: learn the classes of some nodes of a graph; the model tells those of the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F

from regard.base.errors import ConfigError, RegardError, UsageError
from regard.base.files import write_text
from regard.data.graph import Graph, GraphBatches, sorted_edges, undirected
from regard.data.graph_files import GraphFile, looks_like_graph, read_graph
from regard.decoding.node_classifier import NodeClassifier
from regard.metrics.quality import QualityScore
from regard.models.graph_network import GraphNetworkModel
from regard.models.model import Design
from regard.runs.artifact import Artifact
from regard.tasks.node_advice import node_settings
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.training.loss import Loss

EdgeDirections = Literal["both", "as_given"]
Scaling = Literal["none", "rows"]


@dataclass(frozen=True, kw_only=True)
class GraphSettings:
    """The graphs, and how they are read."""

    train: tuple[Path, ...]
    """graphs: folders with edges.tsv, or .npz files"""
    dev: tuple[Path, ...] = ()
    """graphs to validate on; by default the nodes of the training graphs that their split calls `dev`"""
    hold_out: float = 0.0
    """the share of the labeled nodes that validate instead of learning, in training graphs without a split"""
    directions: EdgeDirections = "both"
    """both: an edge joins two nodes; as_given: only the second reads from the first"""
    scaling: Scaling = "none"
    """rows: the features of each node are divided by their sum"""

    def __post_init__(self) -> None:
        if not 0 <= self.hold_out < 1:
            raise ConfigError(f"data: hold_out must be at least 0 and below 1, but is {self.hold_out}")


@dataclass(frozen=True, kw_only=True)
class PreparedNodes(Prepared):
    """Graphs with numbered features and classes."""

    classes: tuple[str, ...]
    feature_names: tuple[str, ...]
    whole: tuple[str, ...]
    """the fingerprints of the training graphs without a split"""


@dataclass(frozen=True, kw_only=True)
class Nodes(Task):
    """The settings of node classification beside model and training."""

    unit: ClassVar[str] = "nodes"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("features", "classes")
    offers: ClassVar[type] = GraphNetworkModel

    data: GraphSettings

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        return all(looks_like_graph(Path(file)) for file in data["train"])

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        if not files or not all(looks_like_graph(file) for file in files):
            return None
        return node_settings(files, wishes, [read_graph(file) for file in files])

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedNodes:
        say("reading the graph")
        files = [read_graph(data / file) for file in self.data.train]
        names = files[0].feature_names
        files[1:] = [read_graph(data / file, names) for file in self.data.train[1:]]
        classes = _classes(files, self.data.train)
        graphs = [self._graph(file, classes, path) for file, path in zip(files, self.data.train, strict=True)]
        both = list(zip(graphs, files, strict=True))
        train, dev = (
            [graph.choosing(_part(graph, file, part, self.data.hold_out)) for graph, file in both]
            for part in ("train", "dev")
        )
        if self.data.dev:
            others = [read_graph(data / file, names) for file in self.data.dev]
            dev = [self._graph(file, classes, path) for file, path in zip(others, self.data.dev, strict=True)]
        if not any(graph.count for graph in train):
            raise RegardError(f"{self.data.train[0]}: no node of the training split has a label")
        batches = GraphBatches(tuple(train))
        counted = f"{sum(graph.nodes for graph in graphs):,} nodes, {sum(graph.edges.shape[1] for graph in graphs):,}"
        return PreparedNodes(
            sizes={"features": graphs[0].features.shape[1], "classes": len(classes)},
            train=batches,
            dev=[graph for graph in dev if graph.count],
            summary=f"{counted} edges, {batches.epoch()[1]:,} nodes to learn from",
            classes=classes,
            feature_names=names,
            whole=tuple(file.fingerprint for file in files if not file.split),
        )

    def loss(self, model: GraphNetworkModel, item: Graph) -> Loss:
        """Cross-entropy of the chosen nodes, and how many of them are right."""
        logits, labels = model(item)[item.chosen], item.labels[item.chosen]
        right = (logits.detach().argmax(-1) == labels).sum().to(logits)
        return Loss(F.cross_entropy(logits, labels, reduction="sum"), item.count, {"accuracy": right})

    def extras(self, design: Design, model: Any, prepared: PreparedNodes) -> dict[str, Any]:
        """The names of classes and features, and how graphs are read."""
        read = {"directions": self.data.directions, "scaling": self.data.scaling}
        held_out = dict.fromkeys(prepared.whole, self.data.hold_out) if self.data.hold_out else {}
        names = {"classes": list(prepared.classes), "feature_names": list(prepared.feature_names)}
        return {**names, **read, **({"held_out": held_out} if held_out else {})}

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[Any], **how: Any) -> NodeClassifier:
        """A classifier of nodes; several models vote by the mean of their probabilities."""
        first = artifacts[0].extras
        if any(artifact.extras["classes"] != first["classes"] for artifact in artifacts):
            raise UsageError(f"{artifacts[1].name}: an ensemble must know the same classes")
        read = GraphSettings(train=(), directions=first["directions"], scaling=first["scaling"])
        number = partial(cls(data=read)._graph, classes=tuple(first["classes"]))
        held_out = {str(graph): float(share) for graph, share in (first.get("held_out") or {}).items()}
        return NodeClassifier(models, tuple(first["classes"]), tuple(first["feature_names"]), number, held_out)

    @classmethod
    def evaluate(cls, opened: NodeClassifier, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """Accuracy on the test nodes of each graph; without a split, on all labeled nodes that did not train."""
        right = counted = 0
        told = []
        for path in files:
            file = opened.read(path)
            graph = opened.number(file, path=path)
            chosen = _part(graph, file, "test", opened.held_out.get(file.fingerprint, 0.0))
            with how.measured(len(graph.labels), "nodes"):
                found = opened.probabilities(graph).argmax(-1)
            right += int((found == graph.labels)[chosen].sum())
            counted += int(chosen.sum())
            told += [f"{node}\t{opened.classes[at]}" for node, at in zip(file.nodes, found.tolist(), strict=True)]
        if not counted:
            raise RegardError(f"{files[0]}: no node of its test split has a label")
        if how.out is not None:
            write_text(how.out, "\n".join(told) + "\n")
        return [QualityScore("accuracy", 100 * right / counted, after=f" % of {counted:,} nodes")]

    def _graph(self, file: GraphFile, classes: tuple[str, ...], path: Path) -> Graph:
        """The graph with numbers for classes; all labeled nodes are chosen."""
        places = {name: at for at, name in enumerate(classes)}
        other = next((label for label in file.labels if label is not None and label not in places), None)
        if other is not None:
            raise RegardError(
                f"{path}: the class '{other}' was not in the training graph, which has: {', '.join(places)}"
            )
        edges = undirected(file.edges) if self.data.directions == "both" else file.edges
        labels = torch.tensor([-1 if label is None else places[label] for label in file.labels])
        features = _by_row_sums(file.features) if self.data.scaling == "rows" else file.features
        return Graph(features, sorted_edges(edges, len(labels)), labels, labels >= 0)


def _classes(files: Sequence[GraphFile], paths: Sequence[Path]) -> tuple[str, ...]:
    """The classes of all training graphs, in order."""
    found = sorted(
        {label for file in files for label in file.labels if label is not None}, key=lambda name: (len(name), name)
    )
    if len(found) < 2:
        raise RegardError(f"{paths[0]}: there must be at least two classes to tell apart, but there are {len(found)}")
    return tuple(found)


def _part(graph: Graph, file: GraphFile, name: str, hold_out: float) -> torch.Tensor:
    """The labeled nodes of a part of the split.

    Without a split, those that are held out are for validation and test; if none are, all train and all are tested.
    """
    if not file.split and hold_out:
        held = file.held_out(hold_out)
        return graph.chosen & (~held if name == "train" else held)
    if not file.split:
        return graph.chosen if name != "dev" else torch.zeros_like(graph.chosen)
    chosen = torch.zeros_like(graph.chosen)
    chosen[file.split.get(name, torch.empty(0, dtype=torch.long))] = True
    return chosen & graph.chosen


def _by_row_sums(features: torch.Tensor) -> torch.Tensor:
    """Each row divided by its sum; rows of zeros stay."""
    if features.layout == torch.strided:
        return features / features.sum(1, keepdim=True).masked_fill_(features.sum(1, keepdim=True) == 0, 1.0)
    rows = torch.repeat_interleave(features.crow_indices().diff())
    sums = features.values().new_zeros(len(features)).index_add_(0, rows, features.values())
    values = features.values() / sums.masked_fill(sums == 0, 1.0)[rows]
    return torch.sparse_csr_tensor(
        features.crow_indices(), features.col_indices(), values, features.shape, check_invariants=False
    )
