from regard.data.links import Link
from regard.markup.placeholders import Kept
from regard.markup.rendering import accepted, in_pieces, pieces, spaced_like
from regard.markup.segments import Segment, with_placeholders
from tests.markup.fakes import answer, backwards


def segment(text: str) -> Segment:
    return with_placeholders([text], Kept())


def test_an_answer_is_accepted_with_everything_in_it() -> None:
    reading = segment("a {x}").read()
    found = accepted(reading, answer("{x} b", (Link(0, 1),)), ["{x}"], Kept())
    assert found
    assert (found.atoms, found.links) == (((0, 3),), (Link(0, 1),))
    assert found.with_atoms(["<x>"]) == "<x> b"
    assert accepted(reading, answer("x b", ()), ["{x}"], Kept()) is None


def test_signs_that_stick_to_a_placeholder_are_not_translated() -> None:
    parts = pieces(segment("see ({x}), and “{y}”'s dog {z}."))
    assert parts == [("", "see ", "("), ("),", " and ", "“"), ("", "”'s dog ", ""), (".", "", "")]
    assert [part.speaks for part in parts] == [True, True, True, False]


def test_pieces_are_joined_with_links_between_words_of_the_whole() -> None:
    whole = segment("a b {x}, c d")
    found = in_pieces(whole, backwards(["a b", " c d"]), Kept())
    assert found.text == "B A {x}, D C"
    atom = [(at, at, 1) for at in range(2, 6)]  # { x } ,
    assert sorted(found.links) == [(0, 1, 1), (1, 0, 1), *atom, (6, 7, 1), (7, 6, 1)]
    assert [found.text[start:end] for start, end in found.atoms] == ["{x}"]
    assert found.score == -2.0


def test_what_a_piece_invents_is_left_out() -> None:
    assert in_pieces(segment("a {x}"), [answer("{y} a %s", None)], Kept()).text == "a {x}"


def test_a_beginning_does_not_end_like_a_sentence() -> None:
    whole = segment("a {x} b. {y} c")
    answers = [answer("A .", (Link(0, 0), Link(0, 1))), answer("B.", None), answer("C.", None)]
    found = in_pieces(whole, answers, Kept())
    assert found.text == "A {x} B. {y} C."
    assert found.links[0] == (0, 0, 1)


def test_white_space_at_the_ends_is_kept() -> None:
    assert spaced_like("\n a ", "b c ") == "\n b c "
    assert spaced_like("  ", "") == "  "
    found = accepted(segment("  {x} ").read(), answer("{x}", None), ["{x}"], Kept())
    assert found
    assert (found.spaced().text, found.spaced().atoms) == ("  {x} ", ((2, 5),))
