import pytest
import torch
from torch import Tensor

from regard.base.errors import ConfigError, ShapeError, UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.scoring import score_tokens
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy
from regard.models.gpt import Gpt
from regard.models.rnn_lm import RnnLm
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.models.writer import Transducer, Writer
from tests.decoding.fakes import Fake, FakeLanguage, sources

VOCABULARY = 90
STRATEGIES = (Greedy(max_length=7), Beam(size=4, n_best=2, max_length=7), Sample(n_best=2, max_length=7))


def real(name: str) -> Writer:
    """A model with random weights, sharp enough for its choices to be clear, that ends now and then."""
    width = {"width": 16, "heads": 2, "feedforward": 16}
    design = {
        "transformer": Transformer(encoder_layers=2, decoder_layers=2, tie="none", **width),
        "seq2seq": Seq2seq(),
        "gpt": Gpt(layers=2, **width),
        "rnn_lm": RnnLm(),
    }[name]
    model = design.build(dict.fromkeys(design.needs, VOCABULARY))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.copy_(torch.randn_like(weight) * 1.5 / weight.shape[-1] ** 0.5)
    return model


def run(model: Writer, strategy: Strategy, source: Tensor, lengths: Tensor) -> list[list[Hypothesis]]:
    if isinstance(model, Transducer):
        return search(model, source, lengths, strategy)
    rows = zip(source.tolist(), lengths.tolist(), strict=True)
    return search(model, None, None, strategy, [row[: length - 1] for row, length in rows])


def trimmed(source: Tensor, lengths: Tensor, pick: Tensor) -> tuple[Tensor, Tensor]:
    return source[pick, : int(lengths[pick].max())], lengths[pick]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", ["transformer", "seq2seq", "gpt", "rnn_lm"])
def test_a_sentence_has_the_same_output_in_any_company(name: str, strategy: Strategy) -> None:
    model = real(name)
    source, lengths = sources(64, VOCABULARY)
    together = run(model, strategy, source, lengths)
    order = torch.randperm(64)
    shuffled = run(model, strategy, source[order], lengths[order])
    sevens = [
        found
        for picked in torch.arange(64).split(7)
        for found in run(model, strategy, *trimmed(source, lengths, picked))
    ]
    alone = [run(model, strategy, *trimmed(source, lengths, torch.tensor([at])))[0] for at in range(0, 64, 9)]
    same(together, sevens)
    same([together[at] for at in order.tolist()], shuffled)
    same(together[::9], alone)
    assert len({found[0].tokens for found in together}) > 10


def same(left: list[list[Hypothesis]], right: list[list[Hypothesis]]) -> None:
    for one, other in zip(left, right, strict=True):
        assert [x.tokens for x in one] == [x.tokens for x in other]
        for x, y in zip(one, other, strict=True):
            assert x.score == pytest.approx(y.score, abs=1e-4)
            assert x.token_scores == pytest.approx(y.token_scores, abs=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", ["transformer", "seq2seq", "gpt", "rnn_lm", "ensemble"])
def test_scores_are_those_of_teacher_forcing(name: str, strategy: Strategy) -> None:
    models = [Fake(seed=1, end=1.0), Fake(seed=2)] if name == "ensemble" else [real(name)]
    source, lengths = sources(12, 20)
    reads = isinstance(models[0], Transducer)
    found = search(models, source, lengths, strategy) if reads else run(models[0], strategy, source, lengths)
    for at, hypotheses in enumerate(found):
        for one in hypotheses:
            target = torch.tensor([[*one.tokens, EOS]])
            given = (source[at : at + 1, : lengths[at]], lengths[at : at + 1]) if reads else (None, None)
            scores = score_tokens(models, *given, target, torch.tensor([target.shape[1]]))[0]
            assert one.token_scores == pytest.approx(scores.tolist(), abs=1e-4)
            assert one.score == pytest.approx(float(scores.sum()), abs=1e-4)


@pytest.mark.parametrize("strategy", [Greedy, Beam, Sample])
def test_every_strategy_obeys_the_rules(strategy: type[Strategy]) -> None:
    source, lengths = sources(30)
    model = Fake(end=3.0)
    rules = {"min_length": 3, "max_length": 6, "no_repeat_ngram": 2, "prefix": (7, 8), "suppress": (0, 1, 2, 9)}
    for hypotheses in search(model, source, lengths, strategy(**rules)):
        for one in hypotheses:
            assert 5 <= len(one) <= 8
            assert one.tokens[:2] == (7, 8)
            assert not {0, 1, 2, 9} & set(one.tokens)
            pairs = list(zip(one.tokens, one.tokens[1:], strict=False))
            assert len(set(pairs)) == len(pairs)


def test_prefixes_come_after_the_strategys_own() -> None:
    found = search(FakeLanguage(), None, None, Greedy(prefix=(5,), max_length=2), [[6, 7], []])
    assert found[0][0].tokens[:3] == (5, 6, 7)
    assert found[1][0].tokens[:1] == (5,)


def test_dropout_is_off_and_comes_back() -> None:
    model = Fake().train()
    source, lengths = sources(5)
    assert search(model, source, lengths, Greedy()) == search(model, source, lengths, Greedy())
    assert model.training


def test_what_cannot_be_searched_is_refused() -> None:
    source, lengths = sources(2)
    assert search(Fake(), source[:0], lengths[:0], Greedy()) == []
    assert search(FakeLanguage(), None, None, Greedy(), []) == []
    with pytest.raises(UsageError, match="needs 'source'"):
        search(Fake(), None, None, Greedy())
    with pytest.raises(UsageError, match="reads no source"):
        search(FakeLanguage(), source, lengths, Greedy())
    with pytest.raises(UsageError, match="2 sentences, but 1 prefixes"):
        search(Fake(), source, lengths, Greedy(), [[5]])
    with pytest.raises(ShapeError, match="no tokens"):
        search(Fake(), source, torch.tensor([1, 0]), Greedy())
    with pytest.raises(ConfigError, match="token 3"):
        search(FakeLanguage(), None, None, Greedy(), [[5, EOS]])
    with pytest.raises(ConfigError, match="suppress has token 20, but the vocabulary has 20 tokens"):
        search(Fake(20), source, lengths, Greedy(suppress=(0, 20)))
    with pytest.raises(ConfigError, match="prefix has token 31"):
        search(Fake(20), source, lengths, Greedy(prefix=(31,)))
