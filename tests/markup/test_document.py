"""Nothing is lost, nothing is invented, and tags stay with their words, however badly a model translates."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.links import Link
from regard.decoding.layout import lay_out
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translation import Translation
from regard.decoding.translator import Translator
from regard.markup.document import Keeping, translate_html, translate_pages, translate_text, translate_texts
from regard.markup.placeholders import ALWAYS, Kept
from tests.data.examples import LINES, subwords
from tests.decoding.fakes import Fake
from tests.markup.fakes import Tags, answer, backwards, careless, identity, placeholders

WORDS = [
    "dog",
    "cat,",
    "“runs”",
    "a",
    "Straße",
    "(big)",
    "שלום",
    "我喜欢狗。",
    "👍🏽",
    "don't",
    "&amp;",
    "&lt;x&gt;",
    "5",
]
KEPT = ["{name}", "{0}", "%s", "%1$s", "https://x.org/a", "me@x.org"]
INLINE = ["b", "i", "em", "span class='x &gt; y'", 'a href="?a=1&amp;b=2"', "custom-tag"]
BLOCK = ["p", "div id=main", "li", "td", "h1"]

spaces = st.sampled_from(["", " ", " ", "\n  "])
plain = st.sampled_from([*WORDS, *KEPT])
single = st.sampled_from(["<img src='a>b.png'>", "<br>", "<br/>", "<wbr>", "<!-- a <b> note -->", "<x id=1 />"])
left_alone = st.sampled_from(["<code>git push</code>", "<i translate='no'>New York</i>", "<script>a<b;</script>"])


def element(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tag = st.sampled_from([*INLINE, *INLINE, *BLOCK])
    return st.builds(lambda name, text: f"<{name}>{text}</{name.split()[0]}>", tag, inner)


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pieces = st.lists(st.tuples(inner, spaces), max_size=5)
    return pieces.map(lambda some: "".join(piece + space for piece, space in some))


spaced = st.lists(plain, min_size=1, max_size=5).map(" ".join)
documents = st.recursive(spaced | single | left_alone, lambda inner: joined(inner | element(inner)), max_leaves=12)
translators = st.builds(careless, st.integers(0, 99), st.sampled_from(["right", "wrong", "empty", "none"]))


def separated(document: str) -> str:
    """With a space wherever a tag meets a placeholder's letters, so that counting them needs no rules."""
    return re.sub(r"(<[^>]*>)", r" \1 ", document)


@settings(max_examples=60, deadline=None)
@given(documents)
def test_what_a_model_leaves_as_it_is_comes_out_as_it_went_in(document: str) -> None:
    assert translate_html(identity, document) == document


@settings(max_examples=80, deadline=None)
@given(documents, translators)
def test_no_tag_is_lost_or_invented_and_all_are_balanced(document: str, translate) -> None:
    before, after = Tags(document), Tags(translate_html(translate, document))
    assert before.broken == 0
    assert after.broken == 0
    assert after.count == before.count


@settings(max_examples=60, deadline=None)
@given(st.lists(plain, min_size=1, max_size=8), translators)
def test_no_placeholder_is_lost_or_invented_in_text(pieces: list[str], translate) -> None:
    text = " ".join(pieces)
    kept = Kept()
    wanted = [text[start:end] for start, end in kept.find(text)]
    (found,) = translate_texts(translate, [text])
    came = Counter(found.text[start:end] for start, end in kept.find(found.text))
    assert came >= Counter(wanted)
    if wanted and len(lay_out(text).pieces) == 1:  # a sentence without any is not looked through for made-up ones
        assert came == Counter(wanted)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(KEPT), min_size=1, max_size=3), documents, translators)
def test_no_placeholder_is_lost_in_html(some: list[str], document: str, translate) -> None:
    document = separated(f"{document}<p>word {' <b>and</b> '.join(some)} more</p>")
    wanted, found = placeholders(document), placeholders(separated(translate_html(translate, document)))
    assert all(found[one] >= count for one, count in wanted.items())


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="<>/b i\"'=&;!-ap?x\n", max_size=40), translators)
def test_broken_html_never_breaks_more(document: str, translate) -> None:
    assert Tags(translate_html(translate, document)).broken <= Tags(document).broken
    assert translate_html(identity, translate_html(identity, document)) == translate_html(identity, document)


def test_tags_move_with_their_words() -> None:
    assert translate_html(backwards, "the <b>big dog</b> runs") == "RUNS <b>DOG BIG</b> THE"
    assert translate_html(backwards, 'a <a href="x"><i>b</i> c</a> d') == 'D <a href="x">C <i>B</i></a> A'
    assert translate_html(backwards, "<p>one <i>two</i></p><p>three</p>") == "<p><i>TWO</i> ONE</p><p>THREE</p>"


def test_a_tag_is_tight_around_what_it_enclosed() -> None:
    def german(texts: list[str]) -> list[Translation]:
        assert texts == ["I see the dog, here."]
        return [
            answer(
                "Hier sehe ich den Hund.", tuple(Link(*one) for one in ((0, 2), (1, 1), (2, 3), (3, 4), (4, 5), (5, 0)))
            )
        ]

    assert translate_html(german, "I see the <b>dog</b>, here.") == "Hier sehe ich den <b>Hund</b>."
    assert translate_html(german, "I see <b>the dog,</b> here.") == "Hier sehe ich <b>den Hund.</b>"
    assert translate_html(german, "I see the dog, <b>here</b>.") == "<b>Hier</b> sehe ich den Hund."
    assert translate_html(german, "<b>I see the dog, here.</b>") == "<b>Hier sehe ich den Hund.</b>"


def test_one_wrong_link_does_not_stretch_a_tag() -> None:
    links = tuple(Link(*one) for one in ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (1, 5)))
    done = translate_html(lambda _: [answer("u v w x y z", links)], "a <b>b</b> c d e")
    assert done == "u <b>v</b> w x y z"


def test_text_without_spaces() -> None:
    english = answer("I like dogs.", tuple(Link(at, at) for at in range(4)))
    assert translate_html(lambda _: [english], "我<b>喜欢</b>狗。") == "I <b>like</b> dogs."
    chinese = answer("我很喜欢狗狗", (Link(0, 0), Link(1, 1), Link(2, 2), Link(2, 3)))
    assert translate_html(lambda _: [chinese], "I <b>like</b> dogs") == "我<b>很喜欢</b>狗狗"
    assert (
        translate_html(lambda _: [answer("👩‍👩‍👧", (Link(0, 0),))], "a<b>b</b>c").replace("<b>", "").replace("</b>", "")
        == "👩‍👩‍👧"
    )


def test_what_is_not_text_stays() -> None:
    page = (
        "<!DOCTYPE html>\n<html><head><title>one two</title><style>b {c: d}</style></head>\n"
        "<body><!-- note <b> --><pre>x  y</pre><textarea>a b</textarea> <p translate=no>a <b>c</b></p>\n"
        "<p>one&nbsp;<span class='a notranslate'>New York</span> &copy; two</p>"
        "<script>if (a<b) c()</script></body></html>"
    )
    done = translate_html(backwards, page)
    kept = page.replace("one two", "TWO ONE").partition("<p>one")[0]
    assert done == kept + (
        "<p>TWO &copy; <span class='a notranslate'>New York</span> ONE</p><script>if (a<b) c()</script></body></html>"
    )


def test_tags_around_blocks_and_tags_without_an_end_stay_in_their_places() -> None:
    assert translate_html(backwards, "a b <b>c d<br>e f</b> g h") == "B A <b>D C<br>F E</b> H G"
    assert translate_html(backwards, "a b <i>c d") == "B A <i>D C"
    assert translate_html(backwards, "a <b>b <i>c</b> d</i> e f") == "A <b>B <i>C</b> D</i> F E"
    assert translate_html(backwards, "a b <a href='c d") == "B A <a href='c d"
    assert translate_html(backwards, "1 < 2 <3") == "&lt;3 2 &lt; 1"


def test_text_is_escaped() -> None:
    page = translate_html(lambda texts: [answer("<script>&amp; x", None) for _ in texts], "<p>hello</p>")
    assert page == "<p>&lt;script&gt;&amp;amp; x</p>"
    assert translate_html(identity, "caf&eacute; &#8212; &quot;x&quot;") == "caf&eacute; &#8212; &quot;x&quot;"


@pytest.mark.parametrize("inner", ["word", "word <i>other</i>", ""])
def test_deep_nesting(inner: str) -> None:
    page = "<b>" * 5000 + inner + "</b>" * 5000
    assert translate_html(identity, page) == page
    stairs = "<b>x " * 300 + inner + "</b>" * 300
    after = Tags(translate_html(backwards, stairs))
    assert (after.broken, after.count) == (0, Tags(stairs).count)
    unclosed = "<i>" * 5000 + inner
    assert translate_html(identity, unclosed) == unclosed


def test_hostile_input_takes_no_longer_than_long_input() -> None:
    for piece in ("<a ", "<a x='", "<!--", "<![CDATA[", "</", "{", "{a ", "<b></i>", "%(", "http://", "&", "<code>"):
        document = piece * 10_000
        assert translate_html(identity, document)


def test_all_texts_are_translated_in_one_call_and_repaired_in_another() -> None:
    calls: list[list[str]] = []

    def forgetful(texts: list[str]) -> list[Translation]:
        calls.append(texts)
        return [answer(re.sub(r"\{\w+\}", "", text), None) for text in texts]

    done = translate_pages(forgetful, ["<p>a</p><p>b {x} c</p>", "d {y}", "<hr>"])
    assert done == ["<p>a</p><p>b {x} c</p>", "d {y}", "<hr>"]
    assert calls[0] == ["a", "b {x} c", "d {y}"]
    assert len(calls) == 2
    assert translate_pages(forgetful, ["", " ", "<br>", "<b>{x}</b>, %s"]) == ["", " ", "<br>", "<b>{x}</b>, %s"]
    assert [one.text for one in translate_texts(forgetful, ["{x}: %s", " "])] == ["{x}: %s", " "]
    assert len(calls) == 2


def test_a_stand_in_that_is_copied_shows_where_the_placeholder_goes() -> None:
    def copies_numbers(texts: list[str]) -> list[Translation]:
        return backwards([re.sub(r"%s|\{\w+\}", "?", text) for text in texts])

    assert translate_text(copies_numbers, "dear {name}, pay %s now") == "NOW %s PAY {name}, DEAR"
    assert translate_html(copies_numbers, "dear <b>{name}</b>, pay %s now") == "NOW %s PAY <b>{name}</b>, DEAR"


def test_without_stand_ins_a_placeholder_goes_beside_its_neighbors() -> None:
    def copies_nothing(texts: list[str]) -> list[Translation]:
        return backwards([re.sub(r"\d+|\{\w+\}", "", text) for text in texts])

    assert translate_text(copies_nothing, "dear {name}, pay now") == "NOW PAY {name}, DEAR"
    assert translate_html(copies_nothing, "<i>a b</i> <b>{name}</b> c") == "<b>{name}</b> C <i>B A</i>"


def test_pieces_are_translated_where_nothing_is_copied() -> None:
    def copies_nothing(texts: list[str]) -> list[Translation]:
        found = backwards([re.sub(r"X?\d+|%s|\{\w+\}", "", text) for text in texts])
        return [answer(one.text, None) for one in found]

    (found,) = translate_texts(copies_nothing, ["dear friend {name}, pay %s now"])
    assert found.text == "FRIEND DEAR {name}, PAY %s NOW"
    assert found.n_best[0].text == found.text
    assert translate_html(copies_nothing, "<i>a b</i> {name}<b>c</b>") == "<i>B A</i> {name}<b>C</b>"


def test_numbers_are_kept_where_asked_for() -> None:
    def spells(texts: list[str]) -> list[Translation]:
        return [answer(text.replace("1,000", "1.000"), None) for text in texts]

    assert translate_text(spells, "pay 1,000 euros") == "pay 1.000 euros"
    assert translate_text(spells, "pay 1,000 euros", Kept((*ALWAYS, "number"))) == "pay 1,000 euros"


def test_plain_text_is_translated_as_without_markup() -> None:
    known = subwords()
    translator = Translator(Fake(len(known), end=3.0), known, known, Greedy())
    texts = [*dict.fromkeys(LINES), "", "  a dog  "]
    assert translate_texts(translator.translate, texts) == translator.translate(texts)


def test_a_real_search_keeps_what_must_be_kept() -> None:
    known = subwords()
    translator = Translator(Fake(len(known), end=3.0), known, known, Greedy())
    pages = [
        f"<p>{line.replace(' ', ' <b>{x}</b> ', 1)} <a href='#'>%s</a></p>" for line in list(dict.fromkeys(LINES))[:4]
    ]
    for page, done in zip(pages, translate_pages(translator.translate, pages), strict=True):
        assert Tags(done).count == Tags(page).count
        assert Tags(done).broken == 0
        assert placeholders(done) == placeholders(page)


def test_each_sentence_is_repaired_by_itself_with_its_own_function() -> None:
    calls: list[tuple[str, list[str]]] = []

    def forgetful(texts: list[str]) -> list[Translation]:
        calls.append(("first", texts))
        return [answer(text.replace("{x}", ""), None) for text in texts]

    def careful(texts: list[str]) -> list[Translation]:
        calls.append(("again", texts))
        return identity(texts)

    text = "One dog. Two {x} dogs.\n  Three {y} dogs. "
    (found,) = Keeping()([text], forgetful, careful, lambda text, whole: lay_out(text, whole=whole))
    assert found.text == text
    assert calls[0] == ("first", ["One dog.", "Two {x} dogs.", "Three {y} dogs."])
    assert [name for name, _ in calls] == ["first", "again"]
    assert all("Three" not in one for one in calls[1][1])
    assert Keeping(Kept(("braces",))).finds("{x} a@b.org") == [(0, 3)]


def test_line_breaks_in_html_end_no_sentence() -> None:
    asked: list[str] = []

    def noting(texts: list[str]) -> list[Translation]:
        asked.extend(texts)
        return backwards(texts)

    assert translate_html(noting, "<p>a\n b</p>") == "<p>B A</p>"
    assert asked == ["a  b"]
