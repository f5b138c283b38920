from regard.markup.placeholders import Kept
from regard.markup.segments import Atom, Mark, with_placeholders


def test_placeholders_become_atoms_and_marks_keep_their_places() -> None:
    mark = Mark("<b>", "open")
    segment = with_placeholders(["a {x}", mark, Atom("git push", "<code>git push</code>"), " c"], Kept())
    assert [atom.text for atom in segment.atoms] == ["{x}", "git push"]
    reading = segment.read()
    assert reading.text == "a {x}git push c"
    assert reading.atoms == ((2, 5), (5, 13))
    assert reading.marks == ((5, mark),)


def test_atoms_can_be_spelled_otherwise() -> None:
    reading = with_placeholders(["{x} and {y}."], Kept()).read(["11", "X12"])
    assert reading.text == "11 and X12."
    assert [reading.text[start:end] for start, end in reading.atoms] == ["11", "X12"]
