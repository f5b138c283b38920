from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from regard.base.errors import ConfigError, RegardError
from regard.data.subwords.tokenizer import BOS, EOS
from regard.decoding.scoring import score_tokens
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from tests.decoding.fakes import Fake, FakeLanguage, sources

VOCABULARY, LONGEST = 7, 4


def everything(model: Fake, penalty: float) -> list[tuple[float, tuple[int, ...]]]:
    """Every output of up to LONGEST tokens with its rank, the best first."""
    ranked = []
    for length in range(LONGEST + 1):
        outputs = list(product(range(4, VOCABULARY), repeat=length))
        target = torch.tensor([[*output, EOS] for output in outputs])
        scores = score_tokens(model, None, None, target, torch.full((len(outputs),), length + 1)).sum(1)
        ranked += [(float(score) / (length + 1) ** penalty, one) for score, one in zip(scores, outputs, strict=True)]
    return sorted(ranked, reverse=True)


@pytest.mark.parametrize("patience", [None, 1.0])
@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_is_exhaustive_search(seed: int, penalty: float, patience: float | None) -> None:
    model = FakeLanguage(VOCABULARY, seed=seed)
    size = sum((VOCABULARY - 4) ** length for length in range(LONGEST + 1))
    beam = Beam(size=size, n_best=10, length_penalty=penalty, max_length=LONGEST, patience=patience)
    (found,) = search(model, None, None, beam)
    expected = everything(model, penalty)[:10]
    assert [one.tokens for one in found] == [tokens for _, tokens in expected]
    assert [one.rank for one in found] == pytest.approx([rank for rank, _ in expected], abs=1e-4)


def plainly(
    model: Fake, source: Tensor, size: int, penalty: float, longest: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Beam search to the longest length, one hypothesis at a time: all that finished, the best first."""
    alive, finished = [(0.0, (), model.start(source, torch.tensor([source.shape[1]])), BOS)], []
    for length in range(longest + 1):
        candidates = []
        for score, tokens, state, last in alive:
            logits, after = model.step(torch.tensor([last]), state)
            values = logits[0].log_softmax(-1).tolist()
            allowed = range(3, len(values)) if length < longest else [EOS]
            candidates += [(score + values[token], (*tokens, token), after, token) for token in allowed]
        candidates.sort(key=lambda one: -one[0])
        ended = [one for one in candidates[:size] if one[3] == EOS]
        finished += [(one[0] / (length + 1) ** penalty, one[1][:-1]) for one in ended]
        alive = [one for one in candidates if one[3] != EOS][:size]
    return sorted(finished, reverse=True)


@pytest.mark.parametrize("penalty", [0.0, 1.0, 1.7])
def test_stopping_early_loses_nothing_that_going_on_would_find(penalty: float) -> None:
    source, lengths = sources(16)
    model = Fake(end=2.0).eval()
    found = search(model, source, lengths, Beam(size=3, n_best=2, patience=None, length_penalty=penalty, max_length=9))
    rows = len(model.steps), sum(model.steps)
    with torch.inference_mode():
        for at, hypotheses in enumerate(found):
            best = plainly(model, source[at : at + 1, : lengths[at]], 3, penalty, 9)[:2]
            assert [one.tokens for one in hypotheses] == [tokens for _, tokens in best]
            assert [one.rank for one in hypotheses] == pytest.approx([rank for rank, _ in best], abs=1e-4)
    if penalty == 0:
        assert rows[1] < 16 + 9 * 16 * 3, "no sentence left before the longest length"


def test_less_patience_is_faster_and_never_better() -> None:
    source, lengths = sources(60)
    model = Fake(end=2.0)
    found, work = [], []
    for patience in (0.4, 1.0, 3.0, None):
        model.steps.clear()
        found.append(search(model, source, lengths, Beam(size=5, patience=patience, max_length=12)))
        work.append(sum(model.steps))
    assert work == sorted(work)
    assert work[0] < work[-1]
    for less, more in pairwise(found):
        assert all(one[0].rank <= other[0].rank + 1e-5 for one, other in zip(less, more, strict=True))


def test_a_wider_beam_has_the_n_best_sorted_and_distinct() -> None:
    source, lengths = sources(20)
    for hypotheses in search(Fake(end=1.0), source, lengths, Beam(size=8, n_best=8)):
        assert len({one.tokens for one in hypotheses}) == len(hypotheses) == 8
        ranks = [one.rank for one in hypotheses]
        assert ranks == sorted(ranks, reverse=True)
        for one in hypotheses:
            assert one.rank == pytest.approx(one.score / (len(one) + 1), rel=1e-5)
            assert sum(one.token_scores) == pytest.approx(one.score, abs=1e-4)


def test_the_length_penalty_favors_longer_outputs() -> None:
    source, lengths = sources(40)
    model = Fake(sharpness=1.0, end=1.0)
    short, long = (
        sum(len(one[0]) for one in search(model, source, lengths, Beam(length_penalty=penalty)))
        for penalty in (0.0, 2.0)
    )
    assert short < long


def test_the_first_step_has_one_row_a_sentence_and_finished_sentences_leave() -> None:
    model = Fake(end=2.0)
    source, lengths = sources(64)
    search(model, source, lengths, Beam(size=4))
    assert model.steps[:2] == [64, 64 * 4]
    assert model.steps[-1] < 32
    assert all(rows % 4 == 0 for rows in model.steps[1:])


def test_prefixes_of_different_lengths_are_kept() -> None:
    model = FakeLanguage(end=1.0)
    prefixes = [[5, 6, 7], [8], [9, 10]]
    found = search(model, None, None, Beam(size=3, n_best=3, max_length=5), prefixes)
    assert model.steps[:2] == [3, 3]
    for prefix, hypotheses in zip(prefixes, found, strict=True):
        assert all(list(one.tokens[: len(prefix)]) == prefix for one in hypotheses)
        assert len({one.tokens for one in hypotheses}) == 3


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"size": 0}, "size must be at least 1"),
        ({"size": 2, "n_best": 3}, r"n_best \(3\) must be at most size \(2\)"),
        ({"length_penalty": -1.0}, "length_penalty"),
        ({"length_penalty": 400.0}, "length_penalty must be at most 20"),
        ({"patience": 0.0}, "patience must be more than 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, float], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        Beam(**settings)


def test_a_broken_model_is_an_error_and_not_an_endless_search() -> None:
    model = Fake()
    model.output.bias.data[5] = torch.nan
    with pytest.raises(RegardError, match="NaN"):
        search(model, *sources(3), Beam())
