"""Names and formats of files; how long and how many are kept."""

import pytest

from regard.apps.server.messages import Refusal
from regard.apps.server.uploads import TranslatedFiles, read_upload


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a.txt", "a_de.txt"),
        ("C:\\docs\\Größe 1.TXT", "Größe_1_de.txt"),
        ("../../etc/passwd.txt", "passwd_de.txt"),
        ("x\r\nSet-Cookie: a.html", "x_Set-Cookie_a_de.html"),
        ("\x00.txt", "file_de.txt"),
        ("a" * 5_000 + ".htm", "a" * 100 + "_de.htm"),
    ],
)
def test_a_name_is_made_harmless(name: str, kept: str) -> None:
    assert read_upload(b"text", name).translated_name("de") == kept


@pytest.mark.parametrize("name", [None, "", "txt", ".txt", "a.txt/", "a.docm", "a.txt.exe"])
def test_what_has_no_known_ending_is_refused(name: str | None) -> None:
    with pytest.raises(Refusal, match="format not supported"):
        read_upload(b"text", name)


def test_a_file_is_kept_for_its_time() -> None:
    now = [0.0]
    files = TranslatedFiles(seconds=10.0, clock=lambda: now[0])
    first = files.keep("a.txt", b"one")
    now[0] = 5.0
    second = files.keep("a.txt", b"two")
    assert first != second
    assert (files.find(first), files.find(second)) == (b"one", b"two")
    now[0] = 10.0
    assert (files.find(first), files.find(second)) == (None, b"two")
    now[0] = 15.0
    files.forget()
    assert not files._kept


def test_the_oldest_make_room() -> None:
    files = TranslatedFiles(most_bytes=10)
    first, second, third = [files.keep("a.txt", b"1234") for _ in range(3)]
    assert [files.find(one) for one in (first, second, third)] == [None, b"1234", b"1234"]
