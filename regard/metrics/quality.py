"""Quality of translations: BLEU, chrF and TER by sacrebleu, and exact match.

Post, A Call for Clarity in Reporting BLEU Scores, 2018, https://arxiv.org/abs/1804.08771. Every score carries the
signature that says how it was computed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.base.errors import RegardError, UsageError, unknown

EXACT = "exact match"
MEASURES = ("BLEU", "chrF", "TER", EXACT)
_UNSPACED = {"zh", "ja-mecab", "char"}
"""tokenizers of BLEU for texts without spaces, in which TER takes each character of East Asia for a word"""


@dataclass(frozen=True)
class QualityScore:
    """One metric over a whole test set."""

    name: str
    value: float
    signature: str = ""
    """how it was computed, as sacrebleu writes it"""
    spread: float | None = None
    """half the 95 % confidence interval, by bootstrap resampling of the sentences"""
    digits: int = 2
    after: str = ""
    """the unit, or what else stands behind the number"""
    groups: Mapping[str, float] = field(default_factory=dict)
    """the same metric on parts of the test set, such as sentences of similar length"""
    by_token: bool = False
    """whether it is a mean over the model's own tokens, so that only models with one tokenizer compare by it"""

    def __str__(self) -> str:
        around = "" if self.spread is None else f" ± {self.spread:.{self.digits}f}"
        return f"{self.name} {self.value:.{self.digits}f}{around}{self.after}"


def corpus_scores(
    outputs: Sequence[str],
    references: Sequence[str],
    *,
    measures: Sequence[str] = MEASURES,
    tokenize: str | None = None,
    samples: int = 0,
    lowercase: bool = False,
) -> list[QualityScore]:
    """The metrics of outputs against one reference each; `samples` bootstrap resamplings give the spread."""
    if len(outputs) != len(references):
        raise UsageError(f"evaluate: there are {len(outputs):,} outputs, but {len(references):,} references")
    if not outputs:
        raise UsageError("evaluate: there is nothing to evaluate")
    scores = []
    for name in measures:
        metric = metric_of(name, tokenize, lowercase)
        result = metric.corpus_score(list(outputs), [list(references)], n_bootstrap=samples or 1)
        spread = float(result._ci) if samples else None
        signature = "" if name == EXACT else str(metric.get_signature())
        scores.append(QualityScore(name, float(result.score), signature, spread, after=" %" if name == EXACT else ""))
    return scores


def exact_match(outputs: Sequence[str], references: Sequence[str]) -> float:
    """The percentage of outputs that equal their reference exactly."""
    same = sum(one.strip() == other.strip() for one, other in zip(outputs, references, strict=True))
    return 100 * same / max(1, len(references))


def bleu(outputs: Sequence[str], references: Sequence[str], tokenize: str | None = None) -> float:
    """BLEU alone."""
    return corpus_scores(outputs, references, measures=("BLEU",), tokenize=tokenize)[0].value


def metric_of(name: str, tokenize: str | None = None, lowercase: bool = False) -> Any:
    """The metric of sacrebleu by its name, one of `MEASURES`."""
    from sacrebleu.metrics.bleu import BLEU  # imported here: takes half a second that only an evaluation needs
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    from regard.metrics.exact_metric import ExactMatch

    if name == "BLEU":
        if tokenize is not None and tokenize not in BLEU.TOKENIZERS:
            raise UsageError(unknown("evaluate.tokenize", tokenize, BLEU.TOKENIZERS, "tokenizers"))
        try:
            return BLEU(tokenize=tokenize, lowercase=lowercase, force=True)  # tokenized text needs no warning
        except (ImportError, RuntimeError) as error:  # some need further packages, and say so
            raise RegardError(f"evaluate.tokenize: {error}") from error
    if name == "chrF":
        return CHRF(lowercase=lowercase)
    if name == "TER":
        asian = tokenize in _UNSPACED
        return TER(normalized=asian, asian_support=asian)  # never minds case, as is the custom
    if name == EXACT:
        return ExactMatch()
    raise UsageError(f"evaluate: unknown measure '{name}'; measures are: {', '.join(MEASURES)}")
