"""Clusters: whether examples of a class lie together.

    silhouette      mean of (b - a) / max(a, b): a the mean distance to one's own class, b that to the nearest other
    kNN accuracy    the share of examples whose k nearest others vote for their class
    adjusted Rand   how far k-means clusters and classes agree beyond chance (0; the same: 1)

Rousseeuw, 1987; Cover and Hart, 1967; Hubert and Arabie, 1985.

All by the cosine of vectors: distances are those of vectors of length 1. scikit-learn computes them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.metrics.feature_checks import Classes, Features, directions, scikit_learn

_SEED = 1


def silhouette(features: Features, labels: Classes) -> float:
    """The mean silhouette, between -1 and 1."""
    scikit_learn()
    from sklearn.metrics import silhouette_score

    if len(np.unique(labels)) >= len(labels):
        raise RegardError("silhouette: every example is a class of its own, so nothing can lie together")
    return float(silhouette_score(directions(features), labels))


def knn_accuracy(features: Features, labels: Classes, neighbors: int = 5) -> float:
    """The accuracy of the majority of the nearest others, each example left out in turn; ties go to the nearer ones."""
    scikit_learn()
    from sklearn.neighbors import NearestNeighbors

    count = min(neighbors, len(labels) - 1)
    places = NearestNeighbors(n_neighbors=count).fit(directions(features)).kneighbors(return_distance=False)
    votes = labels[places]
    right = 0
    for row, own in zip(votes, labels, strict=True):
        counts = np.bincount(row)
        best = np.flatnonzero(counts == counts.max())
        right += next(vote for vote in row if vote in best) == own
    return float(right / len(labels))


def adjusted_rand(features: Features, labels: Classes) -> float:
    """The adjusted Rand index of classes and as many k-means clusters."""
    scikit_learn()
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score

    found = KMeans(len(np.unique(labels)), n_init=4, random_state=_SEED).fit_predict(directions(features))
    return float(adjusted_rand_score(labels, found))


def scatter(features: Features, method: str = "tsne") -> NDArray[np.float64]:
    """Two dimensions to look at: t-SNE (van der Maaten and Hinton, 2008), UMAP (McInnes et al., 2018) or PCA."""
    scikit_learn()
    unit = directions(features)
    made: Any
    if method == "umap":
        from umap import UMAP

        made = UMAP(random_state=_SEED).fit_transform(unit)
    elif method == "tsne":
        from sklearn.manifold import TSNE

        near = min(30.0, (len(unit) - 1) / 3)
        made = TSNE(2, perplexity=near, init="pca", random_state=_SEED).fit_transform(unit)
    else:
        from sklearn.decomposition import PCA

        made = PCA(2, random_state=_SEED).fit_transform(unit)
    return np.asarray(made, np.float64)
