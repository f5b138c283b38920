from math import log

import pytest

from regard.decoding.hypothesis import hypothesis


@pytest.mark.parametrize(("tokens", "end", "cut"), [([4, 5], 0.1, True), ([4, 5], 0.9, False), ([4], 0.1, False)])
def test_cut_is_what_the_limit_ended_against_the_models_will(tokens: list[int], end: float, cut: bool) -> None:
    scores = [-1.0] * len(tokens) + [log(end)]
    made = hypothesis(tokens, scores, sum(scores), -1.0, limit=2)
    assert made.cut is cut
    assert len(made) == len(tokens)
    assert made.token_scores == tuple(scores)
