"""Ways of fine-tuning."""

from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.models.gpt import Gpt
from regard.tasks.tuning_ways import TUNING_WAYS, check_learns, way_of


def test_a_way_has_a_name() -> None:
    assert way_of("adapters") is TUNING_WAYS["adapters"]
    with pytest.raises(UsageError, match=r"--tuning: unknown 'some'.*ways of fine-tuning are: "):
        way_of("some")


def test_frozen_needs_an_output_of_its_own() -> None:
    tied = Gpt(layers=1, width=8, heads=2, tie="target")
    untied = Gpt(layers=1, width=8, heads=2, tie="none")
    for way in TUNING_WAYS.values():
        check_learns(way, untied, {"text": 9}, Path("gpt"))
    check_learns(TUNING_WAYS["all"], tied, {"text": 9}, Path("gpt"))
    with pytest.raises(UsageError, match="gpt: has no output of its own that could learn while the rest is frozen"):
        check_learns(TUNING_WAYS["frozen"], tied, {"text": 9}, Path("gpt"))
