from regard.apps.run_contest import ChosenSearch
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy


def test_a_search_is_chosen_in_another_process() -> None:
    assert ChosenSearch(None, 3)(Beam(size=5)).size == 3
    assert ChosenSearch("greedy", None)(Beam(size=5)) == Greedy()
    assert ChosenSearch(None, None)(Greedy()) == Greedy()
