"""What each metric of a report says, in words, and which direction is better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class MetricNote:
    """The name and meaning of a metric."""

    title: str
    words: str
    better: Better = "higher"


NOTES: Mapping[str, Mapping[str, MetricNote]] = {
    "usability": {
        "accuracy": MetricNote("linear probe, all labels, %", "logistic regression, regularization cross-validated"),
        "few": MetricNote("linear probe, few labels, %", "with the most shots that every class has examples for"),
    },
    "clusters": {
        "knn_accuracy": MetricNote("kNN accuracy, %", "the 5 nearest examples vote for the class"),
        "silhouette": MetricNote("silhouette", "1: classes are compact and apart; 0: they overlap"),
        "adjusted_rand": MetricNote("adjusted Rand index", "k-means clusters beside classes: 1 the same, 0 by chance"),
    },
    "geometry": {
        "effective_rank": MetricNote("effective rank", "how many directions are in use, of the width", "neither"),
        "isotropy": MetricNote("isotropy", "1: even in all directions; near 0: a narrow cone"),
        "mean_cosine": MetricNote("mean cosine of two examples", "near 1: all vectors point the same way", "lower"),
        "alignment": MetricNote("alignment", "mean squared distance within a class, vectors of length 1", "lower"),
        "uniformity": MetricNote("uniformity", "the lower, the more evenly vectors fill the sphere", "lower"),
    },
    "sparsity": {
        "hoyer": MetricNote("Hoyer sparsity", "1: one number carries a vector; 0: all are equally large", "neither"),
        "zeros": MetricNote("zeros, %", "numbers that are exactly 0", "neither"),
        "active": MetricNote("numbers in use (L0)", "beyond a tenth of their vector's root mean square", "neither"),
    },
    "selectivity": {
        "most": MetricNote("most selective unit, η²", "1: the class alone decides it"),
        "mean": MetricNote("mean selectivity, η²", "near 1: each unit is about classes; near 0: many share them"),
    },
    "interpolation": {
        "straightness": MetricNote("straightness of this path", "1: the examples on the way lie on the line"),
        "mean_straightness": MetricNote("mean straightness", "of paths between examples drawn at random"),
        "gap": MetricNote("gap", "from the line to an example, in units of usual neighbors; 1: no holes", "lower"),
    },
    "disentanglement": {
        "mig": MetricNote("MIG", "mutual information gap: 1, each factor is known to one number alone"),
        "sap": MetricNote("SAP", "gap in predicting a factor between the two best numbers"),
        "dci_disentanglement": MetricNote("DCI disentanglement", "each number is important for one factor"),
        "dci_completeness": MetricNote("DCI completeness", "each factor needs one number"),
        "dci_informativeness": MetricNote("DCI informativeness", "the accuracy of predicting factors"),
        "factor_vae": MetricNote("FactorVAE score", "the number that holds still tells which factor is fixed"),
    },
}


def best_of(note: MetricNote, values: Sequence[float | None]) -> set[int]:
    """The places of the best values."""
    known = [value for value in values if value is not None]
    if note.better == "neither" or not known:
        return set()
    best = max(known) if note.better == "higher" else min(known)
    return {at for at, value in enumerate(values) if value == best}


def shown_value(value: float | None) -> str:
    """A number as a table shows it."""
    if value is None:
        return "–"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"
