"""Quality of word alignments: precision, recall and alignment error rate (AER)."""

from collections.abc import Iterable
from dataclasses import dataclass

from regard.data.links import Gold, Link


@dataclass(frozen=True)
class ErrorRates:
    """Agreement of links A with sure links S and possible links P ⊇ S (Och and Ney, 2003).

    precision = |A ∩ P| / |A|,  recall = |A ∩ S| / |S|,  error_rate = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
    """

    precision: float
    recall: float
    error_rate: float

    def __str__(self) -> str:
        return f"precision {self.precision:.1%}, recall {self.recall:.1%}, AER {self.error_rate:.1%}"


def error_rates(found: Iterable[Iterable[Link]], gold: Iterable[Gold]) -> ErrorRates:
    """Precision, recall and alignment error rate (AER) over all sentence pairs together.

    >>> found = Aligner(load("runs/en-de")).align(sources, targets)
    >>> print(error_rates(found, read_gold("test.links")))
    """
    links = sure = sure_hits = possible_hits = 0
    for own, right in zip(found, gold, strict=True):
        points = {link.point for link in own}
        links, sure = links + len(points), sure + len(right.sure)
        sure_hits += len(points & right.sure)
        possible_hits += len(points & right.possible)
    error = 1 - (sure_hits + possible_hits) / (links + sure) if links + sure else 0.0
    return ErrorRates(possible_hits / links if links else 1.0, sure_hits / sure if sure else 1.0, error)
