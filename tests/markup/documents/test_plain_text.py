from hypothesis import given
from hypothesis import strategies as st

from regard.markup.documents.plain_text import read_plain
from tests.markup.fakes import backwards, identity


@given(st.text(alphabet="ab .\n\r\t", max_size=40))
def test_what_a_model_leaves_as_it_is_comes_out_as_it_went_in(text: str) -> None:
    assert read_plain(text.encode(), "a.txt").translated(identity) == text.encode()


def test_lines_are_translated_and_their_ends_stay() -> None:
    assert read_plain(b"a b\r\n\n  c d", "a.txt").translated(backwards) == b"B A\r\n\n  D C"
