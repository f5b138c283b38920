"""Options that several commands share."""

import pytest
import torch

from regard.apps.decode_options import chosen_strategy, use_threads
from regard.base.errors import UsageError
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample


def test_without_options_the_models_own_strategy_is_used() -> None:
    own = Beam(size=7, length_penalty=0.6)
    assert chosen_strategy(None, None, own, n_best=None) == own


def test_options_change_the_models_own_strategy() -> None:
    own = Beam(size=7, length_penalty=0.6)
    assert chosen_strategy(None, 3, own, n_best=2, max_length=9) == Beam(
        size=3, n_best=2, max_length=9, length_penalty=0.6
    )


def test_a_beam_is_searched_where_the_model_has_another_strategy() -> None:
    assert chosen_strategy(None, 3, Greedy()) == Beam(size=3)


def test_another_strategy_takes_the_place_of_the_models() -> None:
    assert chosen_strategy("sample(top_k=4, seed=3)", None, Beam(), max_length=5) == Sample(
        top_k=4, seed=3, max_length=5
    )


def test_two_ways_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="give --beam or --strategy, not both"):
        chosen_strategy("greedy", 2, Beam())


def test_a_setting_that_the_strategy_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="--length-penalty: a greedy search has no such setting"):
        chosen_strategy("greedy", None, Beam(), length_penalty=0.5)


def test_threads_are_used_as_asked() -> None:
    use_threads(None)
    assert torch.get_num_threads() == 1
    use_threads(2)
    assert torch.get_num_threads() == 2
