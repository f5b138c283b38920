"""Disentanglement: whether each factor of the data has a number of the code to itself.

MIG: mean over factors of (I(z_1; v) - I(z_2; v)) / H(v): the mutual information of the two numbers that know most
about a factor v, codes cut into 20 bins; Chen et al., 2018, https://arxiv.org/abs/1802.04942

SAP: mean over factors of the gap between the two numbers that predict it best, each by itself, by a linear
classifier; Kumar et al., 2018, https://arxiv.org/abs/1711.00848

DCI: from the importance R_ij of number i for factor j in boosted trees: disentanglement 1 - H(R_i / Σ_j R_ij) of each
number, completeness 1 - H(R_j / Σ_i R_ij) of each factor, both weighted by importance, and informativeness, the
accuracy; Eastwood and Williams, 2018

FactorVAE: which number varies least while a factor is held fixed tells the factor, by a majority vote; Kim and Mnih,
2018, https://arxiv.org/abs/1802.05983

The details (bins, classifiers, the base of entropies) are those of Locatello et al., 2019,
https://arxiv.org/abs/1811.12359. Codes are [examples, width], factors whole numbers, [examples, factors].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.metrics.feature_checks import Features, scikit_learn

Factors = NDArray[np.int64]
"""[examples, factors]: the value of each factor, as a whole number"""
_BINS = 20
_LITTLE = 1e-11
_DEAD = 0.05
"""the FactorVAE score leaves out numbers whose variance is below this share of the largest"""


@dataclass(frozen=True)
class DciScore:
    """Disentanglement, completeness, and the accuracy of predicting factors from codes."""

    disentanglement: float
    completeness: float
    informativeness: float


def mutual_information(codes: Features, factors: Factors) -> NDArray[np.float64]:
    """The mutual information of each number of the code (rows) and each factor, in nats."""
    scikit_learn()
    from sklearn.metrics import mutual_info_score

    binned = [np.digitize(column, np.histogram(column, _BINS)[1][:-1]) for column in codes.T]
    return np.array([[mutual_info_score(factor, own) for factor in factors.T] for own in binned])


def mig(codes: Features, factors: Factors) -> float:
    """The mutual information gap: 1 if each factor is known to one number alone, 0 if to two equally."""
    check_factors(codes, factors)
    found = np.sort(mutual_information(codes, factors), axis=0)[::-1]
    second = found[1] if len(found) > 1 else np.zeros_like(found[0])
    entropy = np.array([_entropy(np.bincount(factor)) for factor in factors.T])
    return float(np.mean((found[0] - second) / entropy))


def sap(codes: Features, factors: Factors, test_codes: Features, test_factors: Factors) -> float:
    """Separated attribute predictability."""
    check_factors(codes, factors)
    check_factors(test_codes, test_factors)
    scikit_learn()
    from sklearn.svm import LinearSVC

    found = np.zeros((codes.shape[1], factors.shape[1]))
    for at, column in enumerate(codes.T):
        for to, factor in enumerate(factors.T):
            fitted = LinearSVC(C=0.01, class_weight="balanced", random_state=0).fit(column[:, None], factor)
            found[at, to] = (fitted.predict(test_codes[:, at : at + 1]) == test_factors[:, to]).mean()
    ordered = np.sort(found, axis=0)
    return float(np.mean(ordered[-1] - (ordered[-2] if len(ordered) > 1 else 0.0)))


def dci(codes: Features, factors: Factors, test_codes: Features, test_factors: Factors) -> DciScore:
    """Disentanglement, completeness and informativeness."""
    check_factors(codes, factors)
    check_factors(test_codes, test_factors)
    scikit_learn()
    from sklearn.ensemble import GradientBoostingClassifier

    importance, right = np.zeros((codes.shape[1], factors.shape[1])), []
    for at, factor in enumerate(factors.T):
        trees = GradientBoostingClassifier(random_state=0).fit(codes, factor)
        importance[:, at] = np.abs(trees.feature_importances_)
        right.append(float((trees.predict(test_codes) == test_factors[:, at]).mean()))
    return DciScore(_weighted(importance), _weighted(importance.T), float(np.mean(right)))


def factor_vae_score(codes: Features, factors: Factors, *, votes: int = 800, batch: int = 64, seed: int = 1) -> float:
    """The FactorVAE score: the accuracy of a majority vote, half of the votes for training, half for the test."""
    check_factors(codes, factors)
    random = np.random.default_rng(seed)
    spread = codes.var(0, ddof=1)
    alive = np.flatnonzero(spread > _DEAD * spread.max())
    groups = [[np.flatnonzero(factor == value) for value in np.unique(factor)] for factor in factors.T]
    table = np.zeros((2, codes.shape[1], factors.shape[1]), dtype=np.int64)
    for number in range(2 * votes):
        fixed = int(random.integers(len(groups)))
        among = groups[fixed][int(random.integers(len(groups[fixed])))]
        rows = codes[random.choice(among, batch)][:, alive]
        table[number % 2, alive[int((rows.var(0, ddof=1) / spread[alive]).argmin())], fixed] += 1
    chosen = table[0].argmax(1)
    return float(table[1][np.arange(len(chosen)), chosen].sum() / table[1].sum())


def check_factors(codes: Features, factors: Any) -> None:
    """Raise an error unless there are factors that vary, as whole numbers, for each code."""
    if len(codes) != len(factors):
        raise RegardError(f"factors: there are {len(factors):,} rows of factors, but {len(codes):,} codes")
    if np.ndim(factors) != 2 or not np.issubdtype(factors.dtype, np.integer):
        raise RegardError("factors: must be whole numbers, [examples, factors]")
    still = np.flatnonzero(np.ptp(factors, axis=0) == 0)
    if len(still):
        raise RegardError(f"factors: factor {still[0] + 1} never varies, so nothing can be told about it")


def _weighted(importance: NDArray[np.float64]) -> float:
    """1 - entropy of each row, in units of the largest there can be, weighted by the rows' importance."""
    width = importance.shape[1]
    shares = importance + _LITTLE
    shares = shares / shares.sum(1, keepdims=True)
    scores = 1 + (shares * np.log(shares)).sum(1) / np.log(width) if width > 1 else np.ones(len(importance))
    total = importance.sum()
    weights = importance.sum(1) / total if total else np.full(len(importance), 1 / len(importance))
    return float(scores @ weights)


def _entropy(counts: NDArray[Any]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())
