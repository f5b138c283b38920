"""What languages are called."""

import pytest

from regard.apps.server.names import NAMES, language_name


@pytest.mark.parametrize(
    ("code", "name"),
    [("de", "German"), ("pt_BR", "Portuguese (BR)"), ("en-GB", "English (GB)"), ("written", "written"), ("xx", "xx")],
)
def test_a_code_and_its_name(code: str, name: str) -> None:
    assert language_name(code) == name


def test_the_names_are_those_of_the_unicode_consortium() -> None:
    babel = pytest.importorskip("babel")
    known = babel.Locale.parse("en").languages
    assert {code: known[code] for code in NAMES} == NAMES
