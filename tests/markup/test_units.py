from hypothesis import given
from hypothesis import strategies as st

from regard.data.word_spans import word_spans
from regard.markup.units import Units, snap, split_units


def shown(units: Units) -> list[tuple[str, str, int]]:
    return [(units.text[one.start : one.end], one.kind, one.number) for one in units.units]


def test_words_are_taken_apart() -> None:
    assert shown(split_units('He said: "don\'t" …')) == [
        ("He", "core", 0),
        ("said", "core", 1),
        (":", "trail", 2),
        ('"', "lead", 3),
        ("don't", "core", 4),
        ('"', "trail", 5),
        ("…", "alone", 6),
    ]


def test_atoms_are_units_of_their_own_whatever_is_in_them() -> None:
    text = "see (git push) now"
    assert shown(split_units(text, [(5, 13)])) == [
        ("see", "core", 0),
        ("(", "lead", 1),
        ("git push", "atom", 0),
        (")", "trail", 4),
        ("now", "core", 5),
    ]


def test_cuts_are_inside_units_but_never_inside_atoms() -> None:
    units = split_units("unable {name}", [(7, 13)], iter([0, 2, 6, 7, 9]))
    assert [text for text, *_ in shown(units)] == ["un", "able", "{name}"]
    assert (units.before(2), units.before(6), units.before(7), units.before(13)) == (1, 2, 2, 3)


def test_places_between_units() -> None:
    units = split_units(" a   b ")
    assert units.space(1, 3) == (1, 2)
    assert (units.after(1, 1), units.after(1, 9), units.ahead(1, 2), units.ahead(1, 9)) == (3, 5, 3, 2)
    assert (units.ahead(0, 1), units.after(2, 1)) == (0, 7)


@given(st.text(alphabet="ab.▁ \u00a0\u3000\n\x1f🙂", max_size=12))
def test_words_are_those_of_alignments(text: str) -> None:
    assert [(unit.start, unit.end) for unit in split_units(text).units] == word_spans(text)
    assert [unit.number for unit in split_units(text).units] == list(range(len(word_spans(text))))


def test_characters_of_several_parts_stay_whole() -> None:
    for whole in ("e\u0301", "👍🏽", "👩\u200d👧", "☎\ufe0f", "🇩🇪"):
        text = f"a{whole}b"
        assert {snap(text, at) for at in range(1, len(text) - 1)} == {1}
        assert snap(text, len(text) - 1) == len(text) - 1
    assert [snap("🇩🇪🇫🇷", at) for at in range(5)] == [0, 0, 2, 2, 4]
