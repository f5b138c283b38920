"""The heads that align are found, whatever is known: right links, a reverse model, or the text alone."""

import numpy as np
import pytest

from regard.alignment.aligner import Aligner
from regard.alignment.heads import BOTH_WAYS, GOLD, TOKENS, WORDS, candidates, rank_heads
from regard.base.errors import UsageError
from regard.data.links import Gold
from regard.metrics.alignment_error import error_rates
from tests.alignment.aligned import LETTERS, knowing, pairs
from tests.alignment.test_cross_weights import DESIGNS, TEXTS, translator

RIGHT = {((("decoder.layers.1.cross", 1),), 0), ((("decoder.layers.0.cross", 1),), 1)}
"""the heads that know"""
AS_GOOD = RIGHT | {(tuple((layer, head) for head in (0, 1)), shift) for ((layer, _),), shift in RIGHT}
"""they, and the means with a head that looks at all tokens alike"""


def gold_of(orders: list[list[int]]) -> list[Gold]:
    points = [frozenset((source, target) for target, source in enumerate(order)) for order in orders]
    return [Gold(own, own) for own in points]


def test_candidates_are_all_heads_and_each_layers_mean_at_both_shifts() -> None:
    found = candidates(translator(DESIGNS["transformer"]).models[0])
    assert len(found) == len(set(found)) == 2 * 2 * 3
    assert [len(one.heads) for one in found[:3]] == [1, 1, 2]
    assert len(candidates(translator(DESIGNS["previous"]).models[0])) == 2


def test_right_links_decide() -> None:
    sources, targets, orders = pairs()
    ranking = rank_heads(knowing(), sources, targets, gold=gold_of(orders))
    assert (ranking.best.heads, ranking.best.shift) in RIGHT
    assert {(one.heads, one.shift) for one in ranking.choices if one.score == 1.0} == AS_GOOD
    assert max(one.score for one in ranking.choices if one.score < 1.0) < 0.5
    assert (ranking.best.measure, ranking.pairs) == (GOLD, 40)


def test_scores_are_those_of_the_links_that_an_aligner_gives() -> None:
    model = translator(DESIGNS["transformer"], "bpe")
    texts = [*TEXTS, "the dog finds the cat the house"]
    gold = [Gold(frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 1)}))] * 3
    for choice in rank_heads(model, texts, texts[::-1], gold=gold).choices:
        found = Aligner(model, heads=choice).align(texts, texts[::-1])
        assert choice.score == pytest.approx(1 - error_rates(found, gold).error_rate, abs=1e-4)


def test_a_reverse_model_decides() -> None:
    sources, targets, _ = pairs()
    ranking = rank_heads(knowing(), sources, targets, reverse=knowing(turned=True))
    assert {(one.heads, one.shift) for one in ranking.choices if one.score == 1.0} == AS_GOOD
    assert (ranking.best.measure, ranking.best.score) == (BOTH_WAYS, 1.0)


def test_agreement_is_the_best_f_score_with_any_candidate_of_the_other() -> None:
    ahead, back = (translator(DESIGNS[name]) for name in ("transformer", "fed"))
    texts = [*TEXTS, "dog the house cat"]
    links = {choice: Aligner(ahead, heads=choice).align(texts, texts[::-1]) for choice in candidates(ahead.models[0])}
    others = [Aligner(back, heads=choice).align(texts[::-1], texts) for choice in candidates(back.models[0])]

    def agreement(forward: list, backward: list) -> float:
        one = {(at, link.source, link.target) for at, own in enumerate(forward) for link in own}
        other = {(at, link.target, link.source) for at, own in enumerate(backward) for link in own}
        return 2 * len(one & other) / (len(one) + len(other))

    found = {(one.heads, one.shift): one.score for one in rank_heads(ahead, texts, texts[::-1], reverse=back).choices}
    for choice, own in links.items():
        assert found[choice.heads, choice.shift] == pytest.approx(max(agreement(own, one) for one in others), abs=1e-4)


def test_the_words_of_the_text_decide() -> None:
    sources, targets, _ = pairs(120)
    ranking = rank_heads(knowing("bpe"), sources, targets, most=50)
    assert {(one.heads, one.shift) for one in ranking.choices[:4]} == AS_GOOD
    assert (ranking.best.measure, ranking.pairs) == (WORDS, 50)
    assert ranking.best.score > 2 * ranking.choices[4].score
    assert ranking == rank_heads(knowing("bpe"), sources, targets, most=50)


def test_the_tokens_decide_where_a_text_has_no_spaces() -> None:
    sources, targets, _ = pairs(120, LETTERS, space="")
    ranking = rank_heads(knowing("character", LETTERS), sources, targets, most=50)
    assert {(one.heads, one.shift) for one in ranking.choices[:4]} == AS_GOOD
    assert ranking.best.measure == TOKENS
    assert ranking.best.score > 2 * ranking.choices[4].score


def test_the_grid_has_a_row_for_each_layer_and_the_mean_at_its_end() -> None:
    sources, targets, orders = pairs(10)
    ranking = rank_heads(knowing(), sources, targets, gold=gold_of(orders))
    layers, scores = ranking.grid(0)
    assert layers == ["decoder.layers.0.cross", "decoder.layers.1.cross"]
    assert scores.shape == (2, 3)
    assert scores[1, 1] == 1.0
    for choice in ranking.choices:
        grid = ranking.grid(choice.shift)[1]
        column = 2 if len(choice.heads) > 1 else choice.heads[0][1]
        assert grid[layers.index(choice.heads[0][0]), column] == np.float32(choice.score)
    lone = rank_heads(translator(DESIGNS["fed"]), TEXTS, TEXTS).grid(1)[1]
    assert lone.shape == (1, 2)
    assert lone[0, 0] == lone[0, 1]


def test_pairs_without_text_are_left_out_and_some_must_be_left() -> None:
    sources, targets, orders = pairs(6)
    sources[2], targets[4] = " ", ""
    ranking = rank_heads(knowing(), sources, targets, gold=gold_of(orders))
    assert ranking.pairs == 4
    assert ranking.best.score == 1.0
    with pytest.raises(UsageError, match="no pair has text on both sides"):
        rank_heads(knowing(), ["", "a " * 101], ["a", "b"])
