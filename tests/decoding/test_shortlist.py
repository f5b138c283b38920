"""Only listed words are scored; with all words on the list nothing changes, and company never matters."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.decoding import scorer
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.packed.decoder import packed
from regard.decoding.search import search
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy
from regard.decoding.trace import Trace
from regard.models.writer import Writer
from tests.decoding.fakes import sources
from tests.decoding.test_search import real, trimmed

VOCABULARY = 90
STRATEGIES = (Greedy(max_length=8), Beam(size=4, n_best=2, max_length=8), Sample(n_best=2, max_length=8))
FEW = Shortlist(
    [(np.arange(7) * 13 + token * 5) % (VOCABULARY - 4) + 4 for token in range(VOCABULARY)],
    np.array([20, 21, 22]),
    VOCABULARY,
)
ALL = Shortlist([np.arange(VOCABULARY)] * VOCABULARY, np.array([], dtype=np.int64), VOCABULARY)


def tokens(found: Sequence[Sequence[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[one.tokens for one in own] for own in found]


def listed(source: Sequence[int], shortlist: Shortlist = FEW) -> set[int]:
    return {0, 1, 2, 3, *shortlist.frequent.tolist()}.union(*(shortlist.translations[x].tolist() for x in source))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", ["transformer", "seq2seq"])
def test_a_list_of_all_words_changes_nothing(name: str, strategy: Strategy) -> None:
    model, (source, lengths) = real(name), sources(20, VOCABULARY)
    whole = search(model, source, lengths, strategy)
    found = search(model, source, lengths, strategy, shortlist=ALL)
    assert tokens(found) == tokens(whole)
    for one, other in zip(found, whole, strict=True):
        assert [x.score for x in one] == pytest.approx([x.score for x in other], abs=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("name", ["transformer", "seq2seq"])
def test_only_words_of_the_own_list_come_up_and_company_does_not_matter(name: str, strategy: Strategy) -> None:
    model, (source, lengths) = real(name), sources(24, VOCABULARY)
    together = search(model, source, lengths, strategy, shortlist=FEW)
    assert tokens(together) != tokens(search(model, source, lengths, strategy))
    for at, own in enumerate(together):
        alone = search(model, *trimmed(source, lengths, torch.tensor([at])), strategy, shortlist=FEW)
        assert tokens(alone) == tokens([own])
        assert [x.score for x in alone[0]] == pytest.approx([x.score for x in own], abs=1e-4)
        may = listed(source[at, : lengths[at]].tolist())
        assert all(set(one.tokens) <= may for one in own)


def test_probabilities_are_spread_over_the_list() -> None:
    model, (source, lengths) = real("transformer"), sources(3, VOCABULARY)
    for at in range(3):
        one, length = trimmed(source, lengths, torch.tensor([at]))
        [[best]] = search(model, one, length, Greedy(max_length=1), shortlist=FEW)
        with torch.inference_mode():
            logits = model.eval()(one, length, torch.tensor([[2]]))[0, 0]
        own = sorted(listed(one[0].tolist()))
        first = best.tokens[0] if best.tokens else 3
        assert best.token_scores[0] == pytest.approx(float(logits[first] - logits[own].logsumexp(0)), abs=1e-4)


def test_rules_speak_of_the_whole_vocabulary() -> None:
    model, (source, lengths) = real("transformer"), sources(6, VOCABULARY)
    rare = next(token for token in range(4, VOCABULARY) if token not in listed(source[0, : lengths[0]].tolist()))
    strategy = Beam(size=3, max_length=6, prefix=(rare,), suppress=(0, 1, 2, 20, 21, 22), no_repeat_ngram=1)
    prefixes = [(80 + at,) for at in range(6)]
    for at, [best] in enumerate(search(model, source, lengths, strategy, prefixes, shortlist=FEW)):
        assert best.tokens[:2] == (rare, 80 + at)
        assert not {20, 21, 22} & set(best.tokens[2:])
        assert len(set(best.tokens)) == len(best.tokens)


def test_an_ensemble_is_searched_in_the_same_list() -> None:
    models: list[Writer] = [real("transformer"), real("seq2seq")]
    source, lengths = sources(5, VOCABULARY)
    assert tokens(search(models, source, lengths, STRATEGIES[1], shortlist=ALL)) == tokens(
        search(models, source, lengths, STRATEGIES[1])
    )


def test_a_trace_wants_the_whole_vocabulary() -> None:
    source, lengths = sources(2, VOCABULARY)
    with pytest.raises(UsageError, match="does not go with a shortlist"):
        search(real("seq2seq"), source, lengths, STRATEGIES[0], trace=Trace(), shortlist=FEW)


def test_it_is_learned_and_kept() -> None:
    pairs = [([10 + a, 10 + b, 3], [30 + b, 50, 30 + a, 3]) for a in range(5) for b in range(5)]
    found = Shortlist.learn(pairs, 20, 60, top=1, frequent=1)
    assert found.frequent.tolist() == [50]
    assert [own.tolist() for own in found.translations[10:15]] == [[30], [31], [32], [33], [34]]
    assert found.translations[5].tolist() == []
    again = Shortlist.from_extras(found.to_extras())
    assert again.vocabulary == 60
    assert again.frequent.tolist() == [50]
    assert [own.tolist() for own in again.translations] == [own.tolist() for own in found.translations]


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(RegardError, match=r"a\.safetensors: its shortlist cannot be read"):
        Shortlist.from_extras({**FEW.to_extras(), "tokens": "x"}, "a.safetensors")
    with pytest.raises(RegardError, match="cannot be read"):
        Shortlist.from_extras({})


def test_words_that_all_have_come_first_and_what_is_suppressed_is_among_them() -> None:
    words = FEW.words(torch.tensor([[7, 3], [9, 9]]), torch.tensor([2, 1]), [(), (88,)], suppress=(0, 30))
    assert words.tokens[:, : words.common].tolist() == [[0, 1, 2, 3, 20, 21, 22, 30]] * 2
    for own, read, start in zip(words.tokens.tolist(), ([7, 3], [9]), ((), (88,)), strict=True):
        assert set(own) == listed(read) | {30, *start}


def test_a_search_looks_at_its_model_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, (source, lengths), seen = real("transformer"), sources(3), []
    monkeypatch.setattr(scorer, "packed", lambda model: seen.append(model) or packed(model))
    search(model, source, lengths, Beam(size=2), shortlist=FEW)
    assert seen == [model]
