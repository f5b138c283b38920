import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from regard.data.links import Link
from regard.decoding.translation import Translation
from regard.markup.documents.markdown import read_markdown
from tests.markup.fakes import identity


def upper(texts: list[str]) -> list[Translation]:
    return [Translation(text.upper(), 0.0, ()) for text in texts]


def done(text: str, translate=upper) -> str:
    return read_markdown(text.encode(), "a.md").translated(translate).decode()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# A *big* title\n\ntext\n", "# A *BIG* TITLE\n\nTEXT\n"),
        ("a **b c** `code x` d", "A **B C** `code x` D"),
        ("***both*** and ~~gone~~", "***BOTH*** AND ~~GONE~~"),
        ('[text](http://x.org/a_b "T") b', '[TEXT](http://x.org/a_b "T") B'),
        ("see [ref *em*][r]\n\n[r]: http://x.org 'title'\n", "SEE [REF *EM*][r]\n\n[r]: http://x.org 'title'\n"),
        ("go <https://x.org> or ![alt](i.png) now", "GO <https://x.org> OR ![alt](i.png) NOW"),
        ("one\ntwo", "ONE TWO"),
        ("one  \ntwo\\\nthree", "ONE  \nTWO\\\nTHREE"),
        ("> quote one\n> two", "> QUOTE ONE TWO"),
        ("- a\n- b\n  1. c\n", "- A\n- B\n  1. C\n"),
        ("| a | b |\n|---|---|\n| c **x** | `d` |\n", "| A | B |\n|---|---|\n| C **X** | `d` |\n"),
        ("```python\ncode\n```\n\n    indented\n", "```python\ncode\n```\n\n    indented\n"),
        ("<p align='x'>a <b>b</b></p>\n", "<p align='x'>A <b>B</b></p>\n"),
        ("---\ntitle: keep\n---\ntext", "---\ntitle: keep\n---\nTEXT"),
        ("Head\n====\n", "HEAD\n====\n"),
        ("\\*star\\* a_b &copy; x", "\\*STAR\\* A_B &copy; X"),
        ("a <b>b</b> c", "A <b>B</b> C"),
        ("go to {name} now", "GO TO {name} NOW"),
        ("* * *\n", "* * *\n"),
        ("", ""),
    ],
)
def test_markup_stays(source: str, expected: str) -> None:
    assert done(source) == expected


@pytest.mark.parametrize(("mark", "end"), [("*", "*"), ("**", "**"), ("***", "***"), ("~~", "~~"), ("[", "](x)")])
def test_emphasis_of_words_without_a_translation_goes_with_them(mark: str, end: str) -> None:
    def shorter(texts: list[str]) -> list[Translation]:
        return [Translation("er geht heim", 0.0, (), (Link(0, 0), Link(1, 1), Link(3, 2))) for _ in texts]

    written = done(f"he goes {mark}slowly{end} home", shorter)
    shown = re.sub("<[^>]*>", "", MarkdownIt("commonmark").enable("strikethrough").render(written))
    assert shown.split() == ["er", "geht", "heim"]
    assert ("](x)" in written) == (mark == "[")  # a link is kept: its address is said nowhere else


def test_a_translation_makes_no_new_markup() -> None:
    def risky(texts: list[str]) -> list[Translation]:
        return [Translation("1. *mai* [x] <b> `c`", 0.0, ()) for _ in texts]

    written = done("first of may", risky)
    assert written == "1\\. \\*mai\\* \\[x\\] \\<b> \\`c\\`"
    assert MarkdownIt("commonmark").render(written) == "<p>1. *mai* [x] &lt;b&gt; `c`</p>\n"


WORDS = [
    "a",
    "*b*",
    "**c d**",
    "`e`",
    "[f](g)",
    "~~h~~",
    "i_j",
    "k*",
    "<l>",
    "&amp;",
    "\\_",
    "\n",
    "# ",
    "> ",
    "- ",
    "\n\n",
    "|",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
def test_what_a_model_leaves_as_it_is_means_the_same(text: str) -> None:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    before, after = (" ".join(unescape(parser.render(one)).split()) for one in (text, done(text, identity)))
    assert after == before
