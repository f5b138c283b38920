"""Train PyG's layers as its examples do, a step on the whole graph at a time: graphs_pyg.py GRAPH gat|gcn."""

import sys

import graph_data
import torch
import torch.nn.functional as F
from driver import serve_steps
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv


class Gat(nn.Module):
    """8 heads of 8, then one head; dropout 0.6 everywhere."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = GATConv(features, 8, heads=8, dropout=0.6)
        self.last = GATConv(64, classes, heads=1, concat=False, dropout=0.6)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """The logits."""
        x = F.elu(self.first(F.dropout(x, 0.6, self.training), edges))
        return self.last(F.dropout(x, 0.6, self.training), edges)


class Gcn(nn.Module):
    """Width 16; dropout 0.5; the degrees are computed once."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(features, 16, cached=True)
        self.last = GCNConv(16, classes, cached=True)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """The logits."""
        x = F.relu(self.first(F.dropout(x, 0.5, self.training), edges))
        return self.last(F.dropout(x, 0.5, self.training), edges)


def main() -> None:
    """Take steps until the process is ended."""
    features, edges, labels, train, classes = graph_data.read(sys.argv[1])
    kind, rate = {"gat": (Gat, 0.005), "gcn": (Gcn, 0.01)}[sys.argv[2]]
    model = kind(features.shape[1], classes)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, weight_decay=5e-4)

    def step() -> float:
        loss = F.cross_entropy(model(features, edges)[train], labels[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    serve_steps(step)


if __name__ == "__main__":
    main()
