from hypothesis import given
from hypothesis import strategies as st

from regard.markup.html_text import Between, Passage, passages, tokens
from regard.markup.segments import Atom, Mark


def shown(document: str) -> list[str]:
    """The passages alone: texts, `<` and `>` for tags, atoms in brackets."""
    signs = {"open": "<", "close": ">", "single": "!"}
    found = []
    for part in passages(document):
        if isinstance(part, Passage):
            items = [
                signs[one.role] if isinstance(one, Mark) else f"[{one.text}]" if isinstance(one, Atom) else one
                for one in part.items
            ]
            found.append("".join(items))
    return found


@given(st.text(alphabet="<>/bpi \"'=&;!-[]CDATA?\n", max_size=40) | st.text(max_size=20))
def test_the_tokens_are_the_document(document: str) -> None:
    assert "".join(token.written for token in tokens(document)) == document


def test_tags_comments_and_unparsed_text() -> None:
    document = (
        "<!DOCTYPE html><a href='>' x=\"<b>\">t</A ><!-- <i> -->"
        "<script>1<2</b></scripty></SCRIPT>a < b<br/><x /><?pi?></>"
    )
    assert [(token.role, token.written) for token in tokens(document)] == [
        ("aside", "<!DOCTYPE html>"),
        ("open", "<a href='>' x=\"<b>\">"),
        ("text", "t"),
        ("close", "</A >"),
        ("aside", "<!-- <i> -->"),
        ("open", "<script>"),
        ("text", "1<2</b></scripty>"),
        ("close", "</SCRIPT>"),
        ("text", "a < b"),
        ("single", "<br/>"),
        ("single", "<x />"),
        ("aside", "<?pi?>"),
        ("aside", "</>"),
    ]


def test_a_slash_in_a_value_closes_nothing() -> None:
    assert [token.role for token in tokens("<a href=x/>t</a><a href='x'/>")] == ["open", "text", "close", "single"]


def test_an_unfinished_document_is_kept() -> None:
    for rest in ("<a href='x", "<!-- x", "<![CDATA[ > ", "</a", "<script>x<b>"):
        assert "".join(token.written for token in tokens(f"t{rest}")) == f"t{rest}"
        assert shown(f"t{rest}") in (["t"], ["t!"])


def test_passages_end_at_blocks() -> None:
    assert shown("<p>a <b>b</b></p>c<br>d<ul><li>e<li>f</ul>") == ["a <b>", "c", "d", "e", "f"]
    assert shown("a<b>b<p>c</p>d <i>e</i></b>f") == ["a", "b", "c", "d <e>", "f"]


def test_tags_without_their_other_half_end_passages_too() -> None:
    assert shown("a <b>b <i>c</i> d") == ["a ", "b <c> d"]
    assert shown("a </b>b") == ["a ", "b"]
    assert shown("a <b>b <i>c</b> d</i> <u>e</u>") == ["a ", "b ", "c", " d", " <e>"]


def test_what_is_left_alone() -> None:
    assert shown("a <code>x <b>y</b></code> <span class='z notranslate'>w</span> <svg><text>q</text></svg>") == [
        "a [x y] [w] !"
    ]
    assert shown("<pre>a</pre><style>b</style><p translate='no'>c</p><textarea>d</textarea> 5 <p>—</p>") == [" 5 "]
    assert shown("<b translate=no>a <b>c</b> d</b> e <code>f") == ["[a c d] e ", "f"]


def test_entities() -> None:
    (part,) = (one for one in passages('a &amp;&nbsp;&eacute; &#x2014; &quot;b"') if isinstance(one, Passage))
    assert part.items == ('a &\xa0é — "b"',)
    assert part.write('<é "—\xa0&>') == '&lt;&eacute; "&#x2014;&nbsp;&amp;&gt;'
    assert all(isinstance(one, Between) for one in passages("<p>&nbsp;</p>&mdash;"))
