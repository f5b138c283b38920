from types import SimpleNamespace

import pytest

from regard.apps.run_contest import ChosenSearch, _show_groups
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy


def test_a_search_is_chosen_in_another_process() -> None:
    assert ChosenSearch(None, 3)(Beam(size=5)).size == 3
    assert ChosenSearch("greedy", None)(Beam(size=5)) == Greedy()
    assert ChosenSearch(None, None)(Greedy()) == Greedy()


def test_a_share_of_nothing_is_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (
        SimpleNamespace(name=name, mean=mean, groups={"1–4": 2 * mean}) for name, mean in (("a", 0.0), ("b", 3.0))
    )
    _show_groups([first, second])  # type: ignore[list-item]
    assert capsys.readouterr().out.splitlines()[-1] == "% of a\t–\t–"
    _show_groups([second, first])  # type: ignore[list-item]
    assert capsys.readouterr().out.splitlines()[-1] == "% of b\t0\t0"
