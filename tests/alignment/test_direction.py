"""A model that translates the other way is noticed."""

import pytest

from regard.alignment.direction import check_direction
from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.decoding.translator import Translator


class Scores(Translator):
    """Finds one direction likelier."""

    def __init__(self, forward: float, backward: float) -> None:
        self.forward, self.backward, self.asked = forward, backward, 0
        self.source = self.target = learn_subwords(["a b"], SubwordSettings(kind="word", min_count=1))

    def score(self, sources: list[str], targets: list[str]) -> list[tuple[float, ...]]:
        self.asked = len(sources)
        pairs = zip(sources, targets, strict=True)
        return [(self.forward if source < target else self.backward,) * 3 for source, target in pairs]


def test_only_a_clear_difference_counts() -> None:
    sources, targets = ["a"] * 100, ["b"] * 100
    check_direction(right := Scores(-1.0, -6.0), sources, targets, "m")
    assert right.asked < 100
    check_direction(Scores(-2.0, -1.8), sources, targets, "m")
    check_direction(Scores(-2.0, -1.8), [], [], "m")
    with pytest.raises(UsageError, match=r"^m: translates the other way: .* -1\.00 a token, not -6\.00"):
        check_direction(Scores(-6.0, -1.0), sources, targets, "m")


def test_a_language_that_the_model_cannot_write_is_noticed() -> None:
    model = Scores(-1.0, -6.0)
    check_direction(model, ["a b c"], ["b b"], "m")
    with pytest.raises(
        UsageError, match=r"^m: does not know 67% of the target's first lines; it was trained on another"
    ):
        check_direction(model, ["a b"], ["x y a"], "m")
