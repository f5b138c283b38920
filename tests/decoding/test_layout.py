import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.layout import SPLITS, Layout, lay_out

anything = st.one_of(st.text(max_size=60), st.text(alphabet="aB. !?。\n\r\t▁", max_size=60))


@given(anything, st.sampled_from(SPLITS))
def test_joining_after_splitting_is_the_identity(text: str, split: str) -> None:
    layout = lay_out(text, split)
    assert layout.text == text
    assert all(piece == piece.strip() != "" for piece in layout.pieces)
    assert [text[at : at + len(piece)] for at, piece in zip(layout.starts, layout.pieces, strict=True)] == [
        *layout.pieces
    ]


@given(st.text(alphabet="abc DE,;-", max_size=40))
def test_text_without_sentence_ends_comes_back_the_same_way(text: str) -> None:
    assert lay_out(text).filled(lay_out(text).pieces).text == text
    assert len(lay_out(text).pieces) == bool(text.strip())


def test_lines_and_sentences() -> None:
    text = "  One. Two!\r\n\n\tThree\n"
    assert lay_out(text) == Layout(("One.", "Two!", "Three"), ("  ", " ", "\r\n\n\t", "\n"))
    assert lay_out(text, "line").pieces == ("One. Two!", "Three")
    assert lay_out(" \n") == Layout((), (" \n",))
    assert lay_out("Ask {a. B} now. Go.", whole=[(4, 10)]).pieces == ("Ask {a. B} now.", "Go.")


@pytest.mark.parametrize(
    ("source", "translated", "expected"),
    [
        ("One. Two.", ["Eins.", "Zwei."], "Eins. Zwei."),
        ("One.  Two.\n\nThree.", ["Eins.", "Zwei.", "Drei."], "Eins.  Zwei.\n\nDrei."),
        ("你好。再见。", ["Hello.", "Goodbye."], "Hello. Goodbye."),
        ("Hello. Goodbye.", ["你好。", "再见。"], "你好。再见。"),
        ("Hello. Goodbye.", ["สวัสดี", "ลาก่อน"], "สวัสดี ลาก่อน"),
        ("你好。再见。", ["こんにちは。", "さようなら。"], "こんにちは。さようなら。"),
        ("One. Two.", ["", "Zwei."], " Zwei."),
    ],
)
def test_white_space_is_kept_as_the_script_has_it(source: str, translated: list[str], expected: str) -> None:
    assert lay_out(source).filled(translated).text == expected


def test_pieces_can_be_cut_further() -> None:
    layout = lay_out("a b  c. d e").cut(lambda piece: piece.split())
    assert layout == Layout(("a", "b", "c.", "d", "e"), ("", " ", "  ", " ", " ", ""))
    assert lay_out(" a b ").cut(lambda piece: []) == Layout((), (" a b ",))
