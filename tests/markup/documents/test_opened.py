import pytest

from regard.base.errors import RegardError
from regard.markup.documents.opened import OpenDocument, Wording, decoded, interleaved, tagged
from regard.markup.placeholders import Kept
from regard.markup.segments import Mark
from tests.markup.fakes import backwards, identity


def test_passages_are_translated_in_batches_and_counted() -> None:
    asked: list[int] = []
    done: list[int] = []

    def translate(texts: list[str]):
        asked.append(len(texts))
        return backwards(texts)

    document = OpenDocument([Wording((f"a {at}",)) for at in range(300)], lambda texts: "|".join(texts).encode())
    found = document.translated(translate, advance=done.append).decode().split("|")
    assert found == [f"{at} A" for at in range(300)]
    assert sum(asked) == sum(done) == 300
    assert len(done) > 1
    assert document.text.splitlines()[7] == "a 7"


def test_texts_with_tags_are_translated_by_the_function_with_links() -> None:
    document = OpenDocument([tagged("a <i>b</i> c"), tagged("d e")], lambda texts: "|".join(texts).encode())
    assert document.translated(identity, backwards) == b"C <i>B</i> A|d e"
    assert document.translated(identity, kept=Kept(())) == b"a <i>b</i> c|d e"


def test_tags_without_a_counterpart_are_single() -> None:
    roles = [item.role for item in tagged("<b>x <i>y</b> <br> z</i>").items if isinstance(item, Mark)]
    assert roles == ["single", "open", "single", "single", "close"]
    assert [item.role for item in tagged("<b>x</b>").items if isinstance(item, Mark)] == ["open", "close"]


def test_bytes_that_are_not_text_are_named_with_their_line() -> None:
    assert decoded("\ufeffé".encode(), "a.txt") == "é"
    with pytest.raises(RegardError, match=r"a\.txt, line 2: byte 0xe9 is not UTF-8; convert"):
        decoded(b"x\ncaf\xe9", "a.txt")


def test_what_stands_between_is_written_between() -> None:
    assert interleaved(["<", "|", ">"], ["a", "b"]) == b"<a|b>"
