"""The field's numbers are those of the field's own program."""

import pytest
import sacrebleu

from regard.base.errors import RegardError, UsageError
from regard.metrics.quality import QualityScore, bleu, corpus_scores, exact_match

OUTPUTS = ["The cat sat on the mat.", "Two dogs play in snow", "a b c d e", "He said: „nein“!"]
REFERENCES = ["The cat sat on a mat.", "Two dogs are playing in the snow.", "a b c d e", "He said „no“."]


def test_scores_and_signatures_are_sacrebleus() -> None:
    *found, exact = corpus_scores(OUTPUTS, REFERENCES)
    assert (exact.name, exact.value) == ("exact match", 25)
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF": sacrebleu.CHRF(), "TER": sacrebleu.TER()}
    assert [score.name for score in found] == list(metrics)
    for score, metric in zip(found, metrics.values(), strict=True):
        assert score.value == metric.corpus_score(OUTPUTS, [REFERENCES]).score
        assert score.signature == str(metric.get_signature())
        assert score.spread is None


@pytest.mark.parametrize("tokenize", ["none", "intl", "char", "13a", "zh"])
def test_tokenizers_are_sacrebleus(tokenize: str) -> None:
    metric = sacrebleu.BLEU(tokenize=tokenize)
    assert bleu(OUTPUTS, REFERENCES, tokenize) == metric.corpus_score(OUTPUTS, [REFERENCES]).score
    assert f"tok:{tokenize}" in corpus_scores(OUTPUTS, REFERENCES, tokenize=tokenize)[0].signature


def test_a_character_of_chinese_is_a_word_for_ter_too() -> None:
    outputs, references = ["兩隻狗在雪裡玩。"], ["兩隻貓在雪裡玩。"]
    score = corpus_scores(outputs, references, measures=("TER",), tokenize="zh")[0]
    assert score.value == pytest.approx(100 / 8)  # one of seven characters and a full stop
    assert "asian:yes" in score.signature
    assert corpus_scores(outputs, references, measures=("TER",))[0].value == 100


def test_case_may_be_left_out_of_all_of_them() -> None:
    loud = [text.upper() for text in OUTPUTS]
    same = [score.value for score in corpus_scores(loud, OUTPUTS, lowercase=True)]
    assert same[:3] == pytest.approx([100, 100, 0])
    assert bleu(loud, OUTPUTS) < 50


def test_resampling_gives_sacrebleus_interval() -> None:
    (found,) = corpus_scores(OUTPUTS, REFERENCES, measures=["BLEU"], samples=30)
    metric = sacrebleu.BLEU()
    result = metric.corpus_score(OUTPUTS, [REFERENCES], n_bootstrap=30)
    assert found.value == result.score
    assert found.spread == pytest.approx(result._ci)
    assert "bs:30" in found.signature
    assert str(found) == f"BLEU {result.score:.2f} ± {result._ci:.2f}"


def test_a_score_is_read_at_a_glance() -> None:
    assert str(QualityScore("chrF", 61.238, "nrefs:1")) == "chrF 61.24"


def test_exact_match_is_to_the_letter_but_for_spaces_around() -> None:
    assert exact_match(["a b", " c ", "D"], ["a b", "c", "d"]) == pytest.approx(200 / 3)
    assert exact_match([], []) == 0
    with pytest.raises(ValueError, match="shorter"):
        exact_match(["a", "b"], ["a"])


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(UsageError, match="there are 1 outputs, but 2 references"):
        corpus_scores(["a"], ["a", "b"])
    with pytest.raises(UsageError, match="there is nothing to evaluate"):
        corpus_scores([], [])
    with pytest.raises(UsageError, match="unknown measure 'METEOR'; measures are: BLEU, chrF, TER, exact match"):
        corpus_scores(["a"], ["a"], measures=["METEOR"])
    with pytest.raises(UsageError, match=r"unknown '14a' \(did you mean '13a'\?\); tokenizers are: "):
        bleu(["a"], ["a"], "14a")


def test_a_tokenizer_that_needs_a_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("needs more")

    broken.TOKENIZERS = ["ja-mecab"]  # type: ignore[attr-defined]
    monkeypatch.setattr("sacrebleu.metrics.bleu.BLEU", broken)
    with pytest.raises(RegardError, match=r"evaluate\.tokenize: needs more"):
        bleu(["a"], ["a"], "ja-mecab")
