from regard.data.links import Link
from regard.markup.insertion import inserted, without_atoms
from regard.markup.placeholders import Kept
from regard.markup.segments import Mark, Segment, with_placeholders
from tests.markup.fakes import answer, backwards


def segment(*items: str | Mark) -> Segment:
    return with_placeholders(list(items), Kept())


def test_the_text_without_atoms() -> None:
    bare = without_atoms(segment("a {x}, ", Mark("<b>", "open"), "b {y}", Mark("</b>", "close")))
    assert bare.text == "a , b "
    assert [(at, mark.written) for at, mark in bare.marks] == [(2, "0"), (6, "1")]


def test_an_atom_is_put_beside_its_neighbor() -> None:
    whole = segment("one {x} two three")
    (found,) = [inserted(whole, one, Kept()) for one in backwards([without_atoms(whole).text])]
    assert found
    assert found.text == "THREE {x} TWO ONE"
    assert [found.text[start:end] for start, end in found.atoms] == ["{x}"]
    assert sorted(found.links) == [(0, 5, 1), (1, 1, 1), (2, 2, 1), (3, 3, 1), (4, 4, 1), (5, 0, 1)]


def test_an_atom_is_as_close_to_its_neighbors_as_it_was() -> None:
    (found,) = [inserted(segment("a ({x}) b"), answer("A () B", tuple(Link(at, at) for at in range(3))), Kept())]
    assert found
    assert found.text == "A ({x}) B"
    first = inserted(segment("{x} a"), answer("A", (Link(0, 0),)), Kept())
    last = inserted(segment("a: {x}"), answer("A:", (Link(0, 0),)), Kept())
    assert first
    assert last
    assert (first.text, last.text) == ("{x} A", "A: {x}")


def test_nothing_is_inserted_where_links_are_missing_or_something_was_invented() -> None:
    assert inserted(segment("a {x} b"), answer("A B", None), Kept()) is None
    assert inserted(segment("a {x} b"), answer("A %s B", (Link(0, 0),)), Kept()) is None
