"""Recommended settings for a graph: a run.toml with reasons in words."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch

from regard.base.errors import RegardError
from regard.data.graph_files import GraphFile
from regard.tasks.task import Advice, Wishes
from regard.tasks.text_files import relative_paths

_TEMPLATE = """\
# Settings of a run, for regard train {out}. Settings that are not listed have defaults.
# {reason}
name = {name}
task = "nodes"

[data]
train = {train}
{dev}{held}directions = "both"            # an edge joins two nodes; as_given: only the second reads from the first
scaling = "{scaling}"               # rows: the features of each node are divided by their sum

[model]
name = "{model}"
preset = "{preset}"               # gcn, sage, gat or gatv2

[training]
steps = 600                    # a step learns from the whole graph
patience = 20                  # early stopping after this many validations without improvement
validate_every = 10
checkpoint_every = 100
metric = "loss"                # the validation metric that decides: early stopping, best checkpoint
clip = 10.0

[training.optimizer]
name = "adam"
learning_rate = {rate}
betas = [0.9, 0.999]
epsilon = 1e-8
l2 = 5e-4

[training.schedule]
name = "constant"
"""


def node_settings(files: Sequence[Path], wishes: Wishes, graphs: Sequence[GraphFile]) -> Advice:
    """A run.toml for graphs whose nodes have classes."""
    nodes, edges = sum(len(graph.nodes) for graph in graphs), sum(graph.edges.shape[1] for graph in graphs)
    known = sum(label is not None for graph in graphs for label in graph.labels)
    if not known:
        raise RegardError(f"{files[0]}: no node has a class")
    counts = all(bool((_numbers(graph) >= 0).all()) for graph in graphs)
    preset = wishes.preset or "gat"
    reason = f"{nodes:,} nodes, {edges:,} edges, {known:,} labels: a graph network ({preset})"
    reasons = [reason]
    if not wishes.dev and wishes.hold_out != 0 and not any(graph.split for graph in graphs):
        reasons.append("no split: a fifth of the labeled nodes is held out to validate, and evaluate is for these")
    text = _TEMPLATE.format(
        out=wishes.out,
        reason="\n# ".join(reasons),
        held=f"{'hold_out = 0.2':31}# this share of the labeled nodes validates\n" if len(reasons) > 1 else "",
        name=json.dumps(wishes.name or files[0].stem, ensure_ascii=False),
        train=relative_paths(files, wishes.out),
        dev=f"dev = {relative_paths(wishes.dev, wishes.out)}\n" if wishes.dev else "",
        scaling="rows" if counts else "none",
        model=wishes.model or "graph_network",
        preset=preset,
        rate=0.01 if preset == "gcn" else 0.005,
    )
    return Advice(text, tuple(reasons))


def _numbers(graph: GraphFile) -> torch.Tensor:
    return graph.features if graph.features.layout == torch.strided else graph.features.values()
