import json
import random

import pytest

from regard.base.errors import RegardError
from regard.training.history import History, ValidationPoint, rank_of, score_of


def history(*scores: float) -> History:
    made = History()
    for at, score in enumerate(scores, start=1):
        made = made.add(10 * at, score)
    return made


def test_nothing_is_best_before_the_first() -> None:
    assert History().best is None
    assert History().stale == 0
    assert History().around(3) == History().last(3) == []


def test_the_best_is_the_last_of_equals_but_patience_counts_from_the_first() -> None:
    seen = history(1.0, 3.0, 2.0, 3.0)
    assert seen.best == ValidationPoint(40, 3.0)
    assert seen.stale == 2
    assert history(0.0, 0.0, 0.0).stale == 2
    assert history(0.0, 0.0, 0.1).stale == 0
    assert seen.scores == (1.0, 3.0, 2.0, 3.0)


def test_equal_scores_are_decided_by_the_tie_breaker() -> None:
    still = History()
    for step, loss in enumerate((4.0, 3.0, 2.0, 2.5), start=1):
        still = still.add(step, 0.0, -loss)
    assert still.best == ValidationPoint(3, 0.0, -2.0)
    assert still.stale == 1
    assert still.around(2) == [3, 4]
    moved = still.add(5, 0.1, -9.0)  # a higher score wins whatever the loss
    assert moved.best == ValidationPoint(5, 0.1, -9.0)
    assert moved.stale == 0


def test_the_best_and_the_last_are_chosen() -> None:
    seen = history(1.0, 3.0, 2.0, 3.5, 1.0)
    assert seen.around(1) == [40]
    assert seen.around(2) == [30, 40]
    assert seen.around(3) == [20, 30, 40]
    assert seen.last(2) == [40, 50]
    assert seen.last(0) == []
    assert seen.around(9) == seen.last(9) == [10, 20, 30, 40, 50]
    assert history(1.0, 2.0, 1.0).around(2) == [20, 30]


def test_whoever_keeps_the_neighbors_and_the_last_has_all_that_is_ever_chosen() -> None:
    draw = random.Random(1)
    for count in (1, 2, 3, 5):
        for _ in range(50):
            seen, kept = History(), set[int]()
            for step in range(1, 25):
                seen = seen.add(step, draw.choice([0.0, 0.5, draw.random()]))
                kept = (kept | {step}) & {*seen.around(count), *seen.last(count - 1)}
                assert set(seen.around(count)) <= kept
                assert seen.best is not None
                assert seen.best.step in seen.around(count)
                assert len(seen.around(count)) == min(count, step)


def test_it_survives_json() -> None:
    seen = history(0.1 + 0.2, float("-inf"), 1 / 3)
    seen = seen.add(40, 1 / 3, -1 / 7)
    assert History.from_list(json.loads(json.dumps(seen.to_list()))) == seen
    assert History.from_list([[10, 1.5], [20, 2.5]]) == history(1.5, 2.5)  # as it was written before


def test_more_is_always_better() -> None:
    metrics = {"loss": 2.0, "bleu": 30.0, "perplexity": float("nan")}
    assert score_of(metrics, "loss", {"loss", "perplexity"}) == -2.0
    assert score_of(metrics, "bleu", {"loss", "perplexity"}) == 30.0
    assert score_of(metrics, "perplexity", {"loss", "perplexity"}) == float("-inf")
    with pytest.raises(RegardError, match=r"training\.metric: unknown 'bleau' \(did you mean 'bleu'\?\)"):
        score_of(metrics, "bleau", {"loss", "perplexity"})


def test_the_loss_stands_behind_the_metric() -> None:
    assert rank_of({"loss": 2.0, "exact": 0.0}, "exact", {"loss"}) == (0.0, -2.0)
    assert rank_of({"loss": float("nan"), "exact": 0.0}, "exact", {"loss"}) == (0.0, float("-inf"))
    assert rank_of({"accuracy": 0.5}, "accuracy", ()) == (0.5, 0.0)
