import pytest

from regard.base.errors import (
    CombinationError,
    ConfigError,
    RegardError,
    ShapeError,
    UsageError,
    check_at_least,
    check_one_of,
    unknown,
)


def test_wrong_use_leaves_with_two_and_failure_with_one() -> None:
    assert RegardError.exit_code == 1
    assert {kind.exit_code for kind in (UsageError, ConfigError, ShapeError, CombinationError)} == {2}


def test_wrong_use_is_also_a_value_error() -> None:
    for kind in (ConfigError, ShapeError, CombinationError):
        assert issubclass(kind, UsageError)
        assert issubclass(kind, ValueError)


def test_a_message_is_one_line_whatever_it_quotes() -> None:
    for kind in (RegardError, ConfigError):
        sentence = str(kind("unknown 'a\r\n\x1b[1m\x85\u2028b'; é, 語 and “quotes” stay"))
        assert sentence == r"unknown 'a\r \x1b[1m\x85\u2028b'; é, 語 and “quotes” stay"


def test_unknown_names_come_with_the_nearest_and_all() -> None:
    sentence = unknown("model.attention.mask", "windw", ["window", "causal", "padding"], "masks")
    assert sentence == (
        "model.attention.mask: unknown 'windw' (did you mean 'window'?); masks are: causal, padding, window"
    )


def test_nothing_near_gives_no_hint() -> None:
    assert unknown("here", "xyz", {"window"}, "masks") == "here: unknown 'xyz'; masks are: window"


def test_at_least() -> None:
    check_at_least("window", 1, size=1, ahead=7)
    with pytest.raises(ConfigError, match=r"^window: ahead must be at least 1, but is 0$"):
        check_at_least("window", 1, size=1, ahead=0)


def test_one_of() -> None:
    check_one_of("rotary", ("halves", "neighbors"), pairs="halves")
    with pytest.raises(ConfigError) as error:
        check_one_of("rotary", ("halves", "neighbors"), pairs="halvs")
    assert str(error.value) == (
        "rotary.pairs: unknown 'halvs' (did you mean 'halves'?); choices are: halves, neighbors"
    )
