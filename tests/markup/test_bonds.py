from regard.data.links import Link
from regard.markup.bonds import bond, usable_links
from regard.markup.units import split_units

Table = dict[tuple[str, str], float]


def bonds(source: str, target: str, points: list[tuple[int, int]], cuts: tuple[int, ...] = ()) -> Table:
    """What is bound to what, as texts."""
    here = split_units(source, cuts=cuts)
    there, found = bond([Link(*point) for point in points], here, target, ())

    def text(units, at: int) -> str:
        return units.text[units.units[at].start : units.units[at].end]

    return {(text(here, one), text(there, other)): float(sure) for one, other, sure in zip(*found, strict=True)}


def test_parts_are_bound_to_parts_of_their_kind() -> None:
    each = [(at, at) for at in range(4)]
    assert bonds("(dog),", "«Hund».", each) == {("(", "«"): 1, ("dog", "Hund"): 1, (")", "»"): 1, (",", "."): 1}
    assert bonds("dog ,", "Hund,", [(0, 0), (1, 1)]) == {("dog", "Hund"): 1, (",", ","): 1}
    assert bonds("👍", "gut", [(0, 0)]) == {("👍", "gut"): 1}


def test_a_word_that_a_tag_cuts_is_cut_in_proportion() -> None:
    cut = bonds("unbelievable", "unglaublich", [(0, 0)], cuts=(2, 8))
    assert [pair for pair, sure in cut.items() if sure > 0.5] == [("un", "un"), ("believ", "glaub"), ("able", "lich")]
    assert bonds("abcdef", "abcdef", [(0, 0)], cuts=(1,)) == {("a", "a"): 1, ("bcdef", "bcdef"): 1}


def test_a_text_without_spaces_is_shared_by_its_words() -> None:
    assert bonds("ab cd", "图书", [(0, 0), (1, 0)]) == {("ab", "图"): 1, ("cd", "书"): 1}
    assert set(bonds("from the", "vom", [(0, 0), (1, 0)])) == {("from", "vom"), ("the", "vom")}


def test_an_atom_is_bound_to_itself() -> None:
    here = split_units("{a} {b}", [(0, 3), (4, 7)])
    _, (source, target, _) = bond([Link(0, 0), Link(1, 1)], here, "{b} {a}", [(4, 7), (0, 3)])
    assert list(zip(source.tolist(), target.tolist(), strict=True)) == [(0, 1), (1, 0)]


def test_links_that_lead_nowhere_are_left_out() -> None:
    assert usable_links([Link(0, 0, 0.5), Link(5, 0), Link(0, -1)], "a b", "c d") == [(0, 0, 0.5)]


def test_without_links_words_belong_together_in_proportion() -> None:
    assert usable_links(None, "a b c", "d e f") == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    assert [(one, other) for one, other, _ in usable_links((), "a b", "c d e f")] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert usable_links((), "", "c") == []
