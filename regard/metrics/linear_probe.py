"""Linear probes: how well a linear classifier tells classes apart by fixed features, with all labels or with few.

    P(class k | x) = softmax_k(w_k · x + b_k),   min Σ_i -log P(y_i | x_i) + |w|² / 2C

Alain and Bengio, Understanding intermediate layers using linear classifier probes, 2016,
https://arxiv.org/abs/1610.01644. With few labels, `shots` examples of each class are drawn, as for the classification
tasks of MTEB (Muennighoff et al., 2022, https://arxiv.org/abs/2210.07316): logistic regression with C = 1.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError, check_at_least
from regard.metrics.feature_checks import Classes, scikit_learn, smallest_class

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""values of C that cross-validation chooses from; larger means less regularization"""
_FOLDS = 5
_TRIED = 2_000
"""examples that cross-validation looks at, about as many of each class"""


@dataclass(frozen=True)
class ProbeScore:
    """The accuracy of a linear probe on test examples, and the C that cross-validation chose."""

    accuracy: float
    strength: float


@dataclass(frozen=True)
class ShotScore:
    """Accuracies with so many examples of each class, one for each draw, and the 95 % interval of their mean."""

    shots: int
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean accuracy."""
        return float(np.mean(self.accuracies))

    @property
    def margin(self) -> float:
        """Half of the 95 % confidence interval of the mean, by Student's t; 0 for a single draw."""
        from scipy.stats import t

        count = len(self.accuracies)
        if count < 2:
            return 0.0
        return float(t.ppf(0.975, count - 1) * np.std(self.accuracies, ddof=1) / count**0.5)


def linear_probe(
    features: Any,
    labels: Classes,
    test_features: Any,
    test_labels: Classes,
    *,
    strengths: Sequence[float] = STRENGTHS,
    iterations: int = 100,
) -> ProbeScore:
    """Fit on all examples; the regularization is chosen by cross-validation among some, where classes allow it."""
    scikit_learn()
    from sklearn.model_selection import GridSearchCV

    folds = min(_FOLDS, smallest_class(labels)[1])
    if folds < 2 or len(strengths) < 2:
        strength = strengths[0] if len(strengths) == 1 else 1.0
    else:
        some = np.concatenate([np.flatnonzero(labels == one)[: _most_each(labels)] for one in np.unique(labels)])
        search = GridSearchCV(_logistic(1.0, iterations), {"C": list(strengths)}, cv=folds)
        with _patiently():
            strength = float(search.fit(features[some], labels[some]).best_params_["C"])
    return ProbeScore(_fitted(features, labels, test_features, test_labels, strength, iterations), strength)


def few_shot_scores(
    features: Any,
    labels: Classes,
    test_features: Any,
    test_labels: Classes,
    *,
    shots: Sequence[int] = (1, 2, 4, 8, 16),
    draws: int = 10,
    strength: float = 1.0,
    iterations: int = 100,
    seed: int = 1,
) -> list[ShotScore]:
    """The accuracy with so many examples of each class, drawn several times; equal seeds draw equal examples."""
    scikit_learn()
    found = []
    for count in shots:
        rows = [drawn_shots(labels, count, draw, seed) for draw in range(draws)]
        scores = [_fitted(features[at], labels[at], test_features, test_labels, strength, iterations) for at in rows]
        found.append(ShotScore(count, tuple(scores)))
    return found


def drawn_shots(labels: Classes, shots: int, draw: int, seed: int = 1) -> NDArray[np.int64]:
    """The examples of a draw, `shots` of each class; those of fewer shots are among those of more."""
    check_at_least("shots", 1, shots=shots)
    number, count = smallest_class(labels)
    if count < shots:
        raise RegardError(f"shots: {shots} examples of each class are asked for, but class {number + 1} has {count}")
    order = np.random.default_rng([seed, draw]).permutation(len(labels))
    return np.concatenate([order[labels[order] == one][:shots] for one in np.unique(labels)])


def _most_each(labels: Classes) -> int:
    return max(_FOLDS, _TRIED // len(np.unique(labels)))


def _fitted(
    features: Any, labels: Classes, test_features: Any, test_labels: Classes, strength: float, iterations: int
) -> float:
    with _patiently():
        probe = _logistic(strength, iterations).fit(features, labels)
    return float((probe.predict(test_features) == test_labels).mean())


def _logistic(strength: float, iterations: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=strength, max_iter=iterations)


class _patiently(warnings.catch_warnings):  # noqa: N801 a context manager
    """Without the remarks that the iterations ended before the optimum, and that classes have few examples."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.filterwarnings("ignore", message=".*failed to converge.*")
        warnings.filterwarnings("ignore", message=".*number of unique classes is greater.*")  # one shot
        return entered
