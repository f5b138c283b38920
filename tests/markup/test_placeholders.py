import pytest

from regard.base.errors import UsageError
from regard.markup.placeholders import ALWAYS, Kept, stand_ins


def found(text: str, *kinds: str) -> list[str]:
    return [text[start:end] for start, end in Kept(kinds or ALWAYS).find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Hi {name}, {0} {} {{x}} {{{raw}}} ${var} #{x} %{x} {% if y %}.",
            "{name} {0} {} {{x}} {{{raw}}} ${var} #{x} %{x}",
        ),
        ("%s %1$s %(name)d %5.2f %-10s %ld %@ %d%%", "%s %1$s %(name)d %5.2f %-10s %ld %@ %d %%"),
        (
            "See https://x.org/a?b=1&c={id}, (http://y.org/) or www.z.org.",
            "https://x.org/a?b=1&c={id} http://y.org/ www.z.org",
        ),
        ("见https://x.org/a。你好 ann.b+c@mail.x.org!", "https://x.org/a ann.b+c@mail.x.org"),
        ("100% sure, 5% discount, 5%discount, 3 < 4, a @ b, {open", ""),
        ("1,000 dogs on 2020-01-02 at 12:30.", ""),
    ],
)
def test_placeholders_are_found(text: str, expected: str) -> None:
    assert [one for one in found(text) if one != "{% if y %}"] == expected.split()


def test_messages_with_braces_in_braces_are_one() -> None:
    message = "{n, plural, one {# dog} other {# dogs}}"
    assert found(f"There: {message}!") == [message]


def test_numbers_are_found_where_asked_for() -> None:
    text = "1,000 dogs on 2020-01-02 at 12:30, or ٣ for 3.5. {0}"
    assert found(text, "number", "braces") == ["1,000", "2020-01-02", "12:30", "٣", "3.5", "{0}"]


def test_each_is_located_as_often_as_it_is_wanted() -> None:
    kept = Kept()
    assert kept.locate(["{a}", "%s", "{a}"], "%s {a}, {a}") == [(3, 6), (0, 2), (8, 11)]
    for other in ("%s {a}", "%s {a} {a} {a}", "%s {a} {b}", "%s {a} {A}"):
        assert kept.locate(["{a}", "%s", "{a}"], other) is None


def test_further_texts_can_be_kept() -> None:
    assert Kept(()).locate(["git push"], "jetzt git push.") == [(6, 14)]
    assert Kept(()).locate(["is"], "this") is None
    assert Kept(()).locate(["X11"], "我有X11只狗") == [(2, 5)]


def test_without_any() -> None:
    assert Kept((*ALWAYS, "number")).without("a {b} 2 {{c} d}") == "a 2"


def test_stand_ins_are_not_in_the_text() -> None:
    assert stand_ins(3, "11 and 13 X12") == ["14", "15", "16"]


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown 'urls' .did you mean 'url'"):
        Kept(("urls",))
