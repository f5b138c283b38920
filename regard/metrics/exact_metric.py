"""Exact match as a metric of sacrebleu's kind, so that its resampling gives confidence intervals and p-values too."""

from collections.abc import Sequence
from typing import Any

from sacrebleu.metrics.base import Metric, Score, Signature


class ExactMatch(Metric):
    """The percentage of outputs that equal their reference, white space around them left out.

    >>> ExactMatch().corpus_score(["a", "b"], [["a", "c"]]).score
    50.0
    """

    _SIGNATURE_TYPE = Signature

    def _preprocess_segment(self, sent: str) -> str:
        return sent.strip()

    def _extract_reference_info(self, refs: Sequence[str]) -> dict[str, Any]:
        return {"refs": frozenset(refs)}

    def _compute_segment_statistics(self, hypothesis: str, ref_kwargs: dict[str, Any]) -> list[int]:
        return [int(hypothesis in ref_kwargs["refs"]), 1]

    def _compute_score_from_stats(self, stats: Any) -> Score:
        same, count = stats
        return Score("exact match", 100 * float(same) / max(1.0, float(count)))

    def _aggregate_and_compute(self, stats: Sequence[Sequence[int]]) -> Score:
        return self._compute_score_from_stats([sum(column) for column in zip(*stats, strict=True)])
