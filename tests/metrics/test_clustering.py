import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.metrics.clustering import adjusted_rand, knn_accuracy, scatter, silhouette

random = np.random.default_rng(4)
CENTERS = np.eye(3, 8) * 5
LABELS = np.repeat(np.arange(3), 20)
APART = CENTERS[LABELS] + 0.1 * random.standard_normal((60, 8))
MIXED = random.standard_normal((60, 8))


def test_classes_that_lie_apart_and_classes_that_do_not() -> None:
    assert silhouette(APART, LABELS) > 0.9
    assert knn_accuracy(APART, LABELS) == 1.0
    assert adjusted_rand(APART, LABELS) == pytest.approx(1.0)
    assert abs(silhouette(MIXED, LABELS)) < 0.1
    assert abs(adjusted_rand(MIXED, LABELS)) < 0.2
    assert knn_accuracy(MIXED, LABELS) < 0.6


def test_neighbors_and_silhouettes_by_loops() -> None:
    unit = MIXED / np.linalg.norm(MIXED, axis=1, keepdims=True)
    distances = np.linalg.norm(unit[:, None] - unit[None], axis=2)
    right, scores = 0, []
    for at in range(60):
        order = [other for other in np.argsort(distances[at]) if other != at][:3]
        votes = [LABELS[other] for other in order]
        best = max(votes, key=lambda vote: (votes.count(vote), -votes.index(vote)))
        right += best == LABELS[at]
        means = [distances[at][(one == LABELS) & (np.arange(60) != at)].mean() for one in range(3)]
        own, other = means[LABELS[at]], min(mean for one, mean in enumerate(means) if one != LABELS[at])
        scores.append((other - own) / max(own, other))
    assert knn_accuracy(MIXED, LABELS, 3) == pytest.approx(right / 60)
    assert silhouette(MIXED, LABELS) == pytest.approx(np.mean(scores))


def test_pictures_keep_neighbors_together() -> None:
    for method in ("tsne", "pca"):
        places = scatter(APART, method)
        assert places.shape == (60, 2)
        assert knn_accuracy(places - places.mean(0), LABELS) > 0.9 or method == "pca"


def test_a_class_for_each_example_is_refused() -> None:
    with pytest.raises(RegardError, match="every example is a class of its own"):
        silhouette(MIXED[:4], np.arange(4))
