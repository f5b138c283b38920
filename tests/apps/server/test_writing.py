"""Texts that are told while they are written."""

import pytest

from regard.apps.server.writing import Enough, Speech, Telling, held_back, stop_in
from regard.decoding.strategies.greedy import Greedy
from tests.apps.server.small_models import small_models


def spoken(pieces: list[str], *stops: str, skip: int = 0) -> tuple[list[str], bool]:
    told: list[str] = []
    speech = Speech("", skip, stops, told.append)
    try:
        for piece in pieces:
            speech(piece)
        speech.finish()
    except Enough:
        pass
    assert speech.text == "".join(told)
    return told, speech.stopped


def test_the_prompt_is_skipped_and_pieces_pass() -> None:
    assert spoken(["Once ", "upon", " a"], skip=5) == (["upon", " a"], False)


def test_a_stop_may_be_split_over_pieces() -> None:
    assert spoken(["one EN", "D two"], "END") == (["one "], True)
    assert spoken(["one EN", "tire"], "END") == (["one ", "ENtire"], False)
    assert spoken(["one EN"], "END") == (["one ", "EN"], False)


def test_the_first_of_several_stops_counts() -> None:
    assert stop_in("abc", ["c", "b"]) == 1
    assert stop_in("abc", ["x"]) is None
    assert held_back("say EN", ["END", "N!"]) == 2


def test_what_is_told_is_what_is_written() -> None:
    model, told = small_models().named("novels"), list[str]()
    work = Telling(model, Greedy(max_length=5))
    (found,) = work.run([Speech("the cat", 0, (), told.append)])
    ((whole,),) = model.opened.generate(["the cat"], Greedy(max_length=5))
    assert found is not None
    assert (found.tokens, "".join(told)) == (whole.tokens, whole.text)


def test_a_listener_who_left_ends_the_writing() -> None:
    speech = Speech("the cat", 0, (), pytest.fail, over=True)
    assert Telling(small_models().named("novels"), Greedy(max_length=5)).run([speech]) == [None]
