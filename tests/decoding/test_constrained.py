from itertools import product

import pytest
import torch

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.constraint import Constraint, Phrase
from regard.decoding.scoring import score_tokens
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from tests.decoding.fakes import Fake, FakeLanguage, sources

VOCABULARY, LONGEST = 7, 4


def random_constraints(count: int, vocabulary: int = 20, seed: int = 1) -> list[Constraint]:
    """Up to three phrases of up to three tokens for each sentence."""
    chance = torch.Generator().manual_seed(seed)

    def number(least: int, most: int) -> int:
        return int(torch.randint(least, most + 1, (1,), generator=chance))

    def phrase() -> Phrase:
        sequences = [tuple(number(4, vocabulary - 1) for _ in range(number(1, 3))) for _ in range(number(1, 2))]
        return Phrase(tuple(sequences), number(0, 1) == 1)

    return [
        Constraint(tuple(phrase() for _ in range(number(0, 3))), frozenset(range(vocabulary // 2)))
        for _ in range(count)
    ]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("end", [-3.0, 0.0, 3.0])
def test_every_output_has_every_phrase(size: int, end: float) -> None:
    torch.manual_seed(size)
    model, constraints = Fake(20, end=end), random_constraints(8)
    found = search(model, *sources(8), Beam(size=size, n_best=min(size, 3), max_length=12), constraints=constraints)
    for own, constraint in zip(found, constraints, strict=True):
        assert own
        assert [constraint.unmet(one.tokens) for one in own] == [[]] * len(own)
        assert len({one.tokens for one in own}) == len(own)
        assert [one.rank for one in own] == sorted([one.rank for one in own], reverse=True)


def test_an_output_is_the_same_in_any_company() -> None:
    torch.manual_seed(1)
    model, constraints, beam = Fake(20, end=1.0), random_constraints(7), Beam(size=4, n_best=2, max_length=12)
    source, lengths = sources(7)
    together = search(model, source, lengths, beam, constraints=constraints)
    backwards = search(model, source.flip(0), lengths.flip(0), beam, constraints=constraints[::-1])[::-1]
    for at, length in enumerate(lengths.tolist()):
        (alone,) = search(
            model, source[at : at + 1, :length], lengths[at : at + 1], beam, constraints=[constraints[at]]
        )
        assert [one.tokens for one in alone] == [one.tokens for one in together[at]]
        assert [one.tokens for one in backwards[at]] == [one.tokens for one in together[at]]
        assert [one.score for one in alone] == pytest.approx([one.score for one in together[at]], abs=1e-4)


@pytest.mark.parametrize("phrase", [(4,), (5, 6), (6, 6, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_the_best_output_with_the_phrase(seed: int, phrase: tuple[int, ...]) -> None:
    model = FakeLanguage(VOCABULARY, seed=seed)
    ranked = []
    constraint = Constraint((Phrase((phrase,), whole=False),))
    for length in range(LONGEST + 1):
        outputs = list(product(range(4, VOCABULARY), repeat=length))
        target = torch.tensor([[*output, EOS] for output in outputs])
        scores = score_tokens(model, None, None, target, torch.full((len(outputs),), length + 1)).sum(1)
        rows = zip(scores.tolist(), outputs, strict=True)
        ranked += [(score / (length + 1), one) for score, one in rows if not constraint.unmet(one)]
    beam = Beam(size=81, n_best=3, max_length=LONGEST, patience=None)
    (found,) = search(model, None, None, beam, constraints=[constraint])
    assert [one.tokens for one in found] == [tokens for _, tokens in sorted(ranked, reverse=True)[:3]]


def test_scores_are_the_models_own() -> None:
    torch.manual_seed(2)
    model, constraints = Fake(20), random_constraints(6)
    source, lengths = sources(6)
    for at, own in enumerate(search(model, source, lengths, Beam(size=3, max_length=9), constraints=constraints)):
        target = torch.tensor([[*own[0].tokens, EOS]])
        scores = score_tokens(model, source[at : at + 1], lengths[at : at + 1], target, torch.tensor([target.shape[1]]))
        assert list(own[0].token_scores) == pytest.approx(scores[0].tolist(), abs=1e-4)


def test_phrases_are_written_within_the_length_or_left_out() -> None:
    model = Fake(20, end=-50.0)
    source, lengths = sources(3)
    long = Constraint((Phrase(((4, 5, 6),)), Phrase(((7, 8),)), Phrase(((9,),))))
    found = search(model, source, lengths, Beam(max_length=4), constraints=[long] * 3)
    for (one,) in found:
        assert len(one) <= 4
        assert [phrase.alternatives for phrase in long.unmet(one.tokens)] == [((7, 8),)]


def test_a_prefix_counts_and_comes_first() -> None:
    model = Fake(20)
    source, lengths = sources(2)
    constraint = Constraint((Phrase(((5, 6),)), Phrase(((7,),))), frozenset(range(20)))
    found = search(model, source, lengths, Beam(max_length=1), [(5, 6), (8,)], constraints=[constraint] * 2)
    assert found[0][0].tokens == (5, 6, 7)
    assert found[1][0].tokens == (8, 7)


def test_rules_hold_but_for_the_phrases() -> None:
    model = Fake(20)
    source, lengths = sources(8)
    constraint = Constraint((Phrase(((1, 5),)), Phrase(((5, 5, 5),), whole=False)))
    beam = Beam(no_repeat_ngram=1, min_length=6, max_length=12)
    for (one,) in search(model, source, lengths, beam, constraints=[constraint] * 8):
        assert not constraint.unmet(one.tokens)
        others = [token for token in one.tokens if token not in (1, 5)]
        assert len(set(others)) == len(others)
        assert len(one) >= 6


def test_other_strategies_say_that_they_cannot() -> None:
    source, lengths = sources(1)
    with pytest.raises(UsageError, match="by beam search, not by greedy"):
        search(Fake(20), source, lengths, Greedy(), constraints=[Constraint((Phrase(((4,),)),))])
