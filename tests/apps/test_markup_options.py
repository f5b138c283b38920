"""Markup on the command line."""

import pytest

from regard.apps.markup_options import Markup, keeping
from regard.base.errors import UsageError
from tests.markup.fakes import backwards


def test_markup_is_kept_in_documents_and_in_lines() -> None:
    (page,) = keeping(Markup.html, None, backwards)(["<p>a <b>b</b>\n{x}</p>"])
    assert page.text == "<p>{x} <b>B</b> A</p>"
    (line,) = keeping(Markup.placeholders, None, backwards)(["a <b> {x}"])
    assert (line.text, line.alignment) == ("{x} <B> A", None)
    assert keeping(None, None, backwards) is backwards


def test_what_is_kept_can_be_said() -> None:
    (line,) = keeping(Markup.placeholders, "braces, number", backwards)(["{x} 1a b@c.org"])
    assert line.text == "B@C.ORG 1A {x}"


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(UsageError, match="--keep: give --markup"):
        keeping(None, "url", backwards)
    with pytest.raises(UsageError, match="--n-best: cannot be given with --markup html"):
        keeping(Markup.html, None, backwards, prefix=None, n_best=True)
    with pytest.raises(UsageError, match="unknown 'tags'"):
        keeping(Markup.html, "tags", backwards)
