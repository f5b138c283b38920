from pathlib import Path

import torch

from regard.data.friendships import write_club
from regard.data.graph_files import looks_like_graph, read_graph


def test_friends_are_mostly_of_one_group(tmp_path: Path) -> None:
    busiest = write_club(tmp_path / "club.npz", members=60, groups=3)
    assert looks_like_graph(tmp_path / "club.npz")
    club = read_graph(tmp_path / "club.npz")
    labels = torch.tensor([int(label or -1) for label in club.labels])
    same = labels[club.edges[0]] == labels[club.edges[1]]
    assert same.float().mean() > 0.7
    friends = torch.bincount(club.edges.flatten(), minlength=60)
    assert friends.min() >= 1, "nobody is alone"
    assert int(friends.argmax()) == busiest
    assert len(club.split["train"]) == 12
    assert torch.bincount(labels[club.split["train"]]).tolist() == [4, 4, 4]
    assert sum(len(part) for part in club.split.values()) == 60
