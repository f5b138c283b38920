"""One sentence about which run to take."""

from typing import Any

from regard.comparison.run_verdict import Standing, conclude


def standing(name: str, *quality: float, **more: Any) -> Standing:
    return Standing(name=name, quality=quality, **more)


def test_a_p_value_decides_where_there_is_one() -> None:
    old, new = standing("old", 30.1, per_second=40.0), standing("new", 31.2, per_second=20.0)
    assert conclude([old, new], "BLEU", False, {"old": 0.003}) == (
        "new is best: BLEU 31.2 against 30.1 of old (p = 0.003, with one run each); old is 2 times as fast."
    )
    assert conclude([old, new], "BLEU", False, {"old": 0.4}) == (
        "new is best: BLEU 31.2, but old (30.1) is as good as far as these sentences tell (p = 0.4): "
        "take old, 2 times as fast."
    )


def test_seeds_decide_where_there_are_several() -> None:
    one, two = standing("one", 0.9, 0.94, training_seconds=2.0), standing("two", 0.91, 0.95, training_seconds=2.04)
    assert conclude([one, two], "accuracy", False) == (
        "two is best: accuracy 0.93 ± 0.028, but one (0.92 ± 0.028) is as good within the spread over seeds, "
        "at the same speed."
    )
    poor = standing("poor", 0.5, 0.52)
    assert conclude([poor, two], "accuracy", False) == (
        "two is best: accuracy 0.93 ± 0.028 against 0.51 ± 0.014 of poor (more than the spread over seeds)."
    )


def test_intervals_decide_between_single_runs() -> None:
    one, two = standing("one", 90.0, interval=3.0, per_second=1.0), standing("two", 93.0, interval=3.0, per_second=9.0)
    assert conclude([one, two], "accuracy", False).startswith(
        "two is best: accuracy 93 ± 3, but one (90 ± 3) is as good within the 95 % intervals; two is the fastest"
    )
    three = standing("three", 70.0, interval=3.0, per_second=1.0)
    assert conclude([three, two], "accuracy", False) == (
        "two is best: accuracy 93 ± 3 against 70 ± 3 of three (outside the 95 % intervals, with one run each), "
        "and the fastest too."
    )


def test_what_is_not_known_is_said() -> None:
    low, high = standing("low", 1.0), standing("high", 2.0)
    assert conclude([high, low], "loss", True) == (
        "low is best: loss 1 against 2 of high; whether that is more than the luck of a seed, "
        "only further seeds would tell."
    )
    assert "is as good to the last digit" in conclude([low, standing("same", 1.0)], "loss", True)
    assert conclude([standing("only", 1.0, 2.0)], "loss", True) == "only stands alone: loss 1.5 ± 0.71 over 2 seeds."
