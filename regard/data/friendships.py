"""A generated club of friends in a few groups: a small graph with no download, in the manner of Zachary's karate club.

Friendships within a group are common and between groups rare (a stochastic block model: Holland et al., 1983); some
members have many friends. Features hardly tell the groups apart, so that neighbors have to be read.
"""

from pathlib import Path
from typing import Any

import numpy as np

from regard.base.files import replacing

_TOLD = 4
"""the members of each group whose group is told"""


def write_club(path: Path, members: int = 90, groups: int = 3, seed: int = 1) -> int:
    """Write the club as a graph (.npz), and give the member with the most friends."""
    draw = np.random.default_rng(seed)
    labels = np.arange(members) % groups
    charm = draw.pareto(3.0, members) + 0.6
    chance = np.where(labels[:, None] == labels, 0.16, 0.012) * charm[:, None] * charm
    friends = np.triu(draw.random((members, members)) < chance, 1)
    for lonely in np.flatnonzero(~(friends | friends.T).any(1)).tolist():
        other = int(draw.choice(np.flatnonzero((labels == labels[lonely]) & (np.arange(members) != lonely))))
        friends[min(lonely, other), max(lonely, other)] = True
    features = draw.normal(size=(members, 8)) + 0.5 * np.eye(groups, 8)[labels]
    order = draw.permutation(members)
    told = np.concatenate([order[labels[order] == group][:_TOLD] for group in range(groups)])
    others = np.setdiff1d(order, told, assume_unique=True)
    split: dict[str, Any] = {"train": told, "dev": others[: members // 5], "test": others[members // 5 :]}
    with replacing(path) as file:
        np.savez(file, edges=np.argwhere(friends), features=features.astype(np.float32), labels=labels, **split)
    return int((friends | friends.T).sum(1).argmax())
