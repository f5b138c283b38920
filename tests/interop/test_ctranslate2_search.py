from dataclasses import replace
from pathlib import Path

import pytest

from regard.base.errors import ConfigError, UsageError
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy
from regard.decoding.translator import Translator
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.interop.ctranslate2_search import check_strategy, make_requests
from regard.interop.ctranslate2_translator import CTranslate2Translator
from regard.loading import load
from regard.models.transformer import Transformer
from tests.data.examples import LINES
from tests.interop.examples import SMALL, TOY, write

TEXTS = [source for source, _ in TOY[:30]]


@pytest.fixture(scope="module")
def pair(trained: Path, exported: Path) -> tuple[Translator, Translator]:
    ours = load(trained)
    assert isinstance(ours, Translator)
    return ours, CTranslate2Translator(exported, threads=1, token_scores=True)


def check_same(pair: tuple[Translator, Translator], **settings: object) -> None:
    wanted, found = (one.translate(TEXTS, **settings) for one in pair)
    for ours, theirs in zip(wanted, found, strict=True):
        assert [one.text for one in theirs.n_best] == [one.text for one in ours.n_best]
        assert theirs.notes == ours.notes
        for one, other in zip(ours.n_best, theirs.n_best, strict=True):
            assert other.tokens == one.tokens
            assert other.score == pytest.approx(one.score, abs=1e-3)
            assert other.token_scores == pytest.approx(one.token_scores, abs=1e-3)


# With suppressed tokens the n-best differ where p(suppressed) is not small, as in a model of few tokens.
@pytest.mark.parametrize(
    "strategy",
    [
        Greedy(),
        Beam(size=5),
        Beam(size=5, n_best=5, suppress=()),
        Beam(size=4, n_best=3, length_penalty=0.0, suppress=()),
        Beam(size=3, n_best=2, length_penalty=0.6, patience=2.0, suppress=()),
        Beam(size=5, max_length=2, suppress=()),
        Greedy(max_length=2),
        Greedy(min_length=8),
        Greedy(max_ratio=0.5, max_extra=0),
        Greedy(no_repeat_ngram=1),
    ],
    ids=str,
)
def test_the_search_finds_what_ours_finds(pair: tuple[Translator, Translator], strategy: Strategy) -> None:
    check_same(pair, strategy=strategy)


@pytest.mark.parametrize("strategy", [Greedy(), Beam(size=4, suppress=())], ids=str)
def test_a_prefix_counts_as_in_ours(pair: tuple[Translator, Translator], strategy: Strategy) -> None:
    prefixes = [" ".join(target.split()[: at % 3]) for at, (_, target) in enumerate(TOY[:30])]
    check_same(pair, strategy=strategy, prefixes=prefixes)
    first = tuple(pair[0].target.encode("und"))
    check_same(pair, strategy=replace(strategy, prefix=first))


def test_a_model_that_never_ends_is_cut_at_each_text_s_own_limit(tmp_path: Path) -> None:
    file = write(tmp_path / "model.safetensors", Transformer(**SMALL, tie="none"))
    theirs = CTranslate2Translator(export_ctranslate2(file, tmp_path / "export"), threads=1)
    strategy = Greedy(max_ratio=1.0, max_extra=3, suppress=())
    texts = list(dict.fromkeys(LINES))
    wanted, found = (one.translate(texts, strategy=strategy) for one in (load(file), theirs))
    assert any(one.notes for one in wanted)
    assert [(one.text, one.notes) for one in found] == [(one.text, one.notes) for one in wanted]


def test_scores_of_tokens_are_computed_on_request_alone(exported: Path, pair: tuple[Translator, Translator]) -> None:
    plain = CTranslate2Translator(exported, threads=1)
    for one, other in zip(plain.translate(TEXTS), pair[1].translate(TEXTS), strict=True):
        assert one.n_best[0].token_scores == ()
        assert one.score == pytest.approx(other.score, abs=0.02)
        assert other.score == pytest.approx(sum(other.n_best[0].token_scores))


def test_other_searches_are_refused() -> None:
    with pytest.raises(UsageError, match="searches with beam or greedy, not with sample; use --engine torch"):
        check_strategy(Sample())
    with pytest.raises(UsageError, match="needs a number for patience"):
        check_strategy(Beam(patience=None))


def test_tokens_must_exist() -> None:
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "a"]
    (request,) = make_requests([(4, 4)], [(4,)], Greedy(prefix=(4,), min_length=1), pieces, pieces, 100)
    assert (request.source, request.prefix, request.least, request.most) == (("a", "a"), ("a", "a"), 3, 28)
    (request,) = make_requests([(4, 4)], [()], Greedy(), pieces, pieces, 9)
    assert request.most == 9
    with pytest.raises(ConfigError, match="prefix has token 5, but the vocabulary has 5 tokens"):
        make_requests([(4,)], [(5,)], Greedy(), pieces, pieces, 100)
    with pytest.raises(ConfigError, match="cannot stand inside an output"):
        make_requests([(4,)], [(3,)], Greedy(), pieces, pieces, 100)
    assert make_requests([], [], Greedy(), pieces, pieces, 100) == []
