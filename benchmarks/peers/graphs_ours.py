"""Train Regard's graph networks, a step on the whole graph at a time: graphs_ours.py GRAPH PRESET."""

import sys

import graph_data
import torch
import torch.nn.functional as F
from driver import serve_steps

from regard.data.graph import Graph
from regard.models.graph_network import GraphNetwork

RATES = {"gat": 0.005, "gcn": 0.01}


def main() -> None:
    """Take steps until the process is ended."""
    features, edges, labels, train, classes = graph_data.read(sys.argv[1])
    chosen = torch.zeros(len(labels), dtype=torch.bool)
    chosen[train] = True
    sparse = features.to_sparse_csr() if (features != 0).float().mean() < 0.1 else features  # as its files are read
    graph = Graph(sparse, edges, labels, chosen)
    model = GraphNetwork.preset(sys.argv[2]).build({"features": features.shape[1], "classes": classes})
    optimizer = torch.optim.Adam(model.parameters(), lr=RATES[sys.argv[2]], weight_decay=5e-4)

    def step() -> float:
        loss = F.cross_entropy(model(graph)[chosen], labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    serve_steps(step)


if __name__ == "__main__":
    main()
