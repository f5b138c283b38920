import pytest

from regard.data.links import Link
from regard.decoding.layout import Layout, lay_out
from regard.decoding.translation import Candidate, Note, Translation, joined, joint_candidates, joint_links, on_line


def ranked(*options: tuple[str, float]) -> tuple[Candidate, ...]:
    return tuple(Candidate(text, 2 * rank, (1,), (rank, rank), rank) for text, rank in options)


def test_the_n_best_of_a_text_are_the_largest_sums_of_its_parts() -> None:
    layout = lay_out("Aa. Bb. Cc.")
    parts = [ranked(("a1", -1), ("a2", -4)), ranked(("b1", -1), ("b2", -1.5), ("b3", -9)), ranked(("c1", -2))]
    found = joint_candidates(layout, parts)
    assert [one.text for one in found] == ["a1 b1 c1", "a1 b2 c1", "a2 b1 c1"]
    assert [one.rank for one in found] == pytest.approx([-4, -4.5, -7])
    assert [one.score for one in found] == pytest.approx([-8, -9, -14])
    assert found[0].tokens == (1, 1, 1)
    assert len(found[0].token_scores) == 6
    assert joint_candidates(layout, [()] * 3) == ()


def test_equal_texts_are_one() -> None:
    found = joint_candidates(lay_out("Aa. Bb."), [ranked(("x", 0), ("x", -1)), ranked(("y", 0))])
    assert [one.text for one in found] == ["x y"]


def test_links_are_counted_over_the_whole_text() -> None:
    source = lay_out("one two. three")
    target = source.filled(["eins zwei drei.", "vier"])
    found = joint_links(source, target, [(Link(0, 2, 0.5), Link(1, 0)), (Link(0, 0, 0.25),)])
    assert found == (Link(0, 2, 0.5), Link(1, 0), Link(3, 4, 0.25))  # punctuation counts as a word
    assert joint_links(source, target, [(Link(7, 0), Link(0, 9), Link(-1, 0)), ()]) == ()


def test_parts_become_one_translation() -> None:
    layout = lay_out("A.\n B. ")
    note = Note(0, "cut")
    parts = [
        Translation("x", -1, ranked(("x", -1)), (Link(0, 0),), (note,)),
        Translation("y", -2, ranked(("y", -2)), (Link(0, 0),)),
    ]
    found = joined(layout, parts)
    assert (found.text, found.score, found.notes) == ("x\n y ", -3, (note,))
    assert found.alignment == (Link(0, 0), Link(2, 1))  # the full stops count as words
    assert joined(layout, [parts[0], Translation("y", 0, ())]).alignment is None
    assert joined(Layout((), (" ",)), []).text == " "
    assert str(on_line(found, 7).notes[0]) == "line 7: cut"
