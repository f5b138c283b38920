import pytest

from regard.base.errors import RegardError
from regard.markup.documents.subtitles import read_subtitles, wrapped
from tests.markup.fakes import backwards, identity

SRT = """\ufeff1
00:00:01,000 --> 00:00:02,500 X1:40 X2:60
one <i>two</i>
three four

2
00:00:03,000 --> 00:00:04,000
- five six
- seven

3
00:00:05,000 --> 00:00:06,000

"""
VTT = """WEBVTT - title

NOTE this stays

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.000 align:start
<v Ann>one two

00:00:03.000 --> 00:00:04.000
three
"""


def test_times_numbers_and_settings_stay() -> None:
    found = read_subtitles(SRT.encode(), "a.srt").translated(backwards).decode()
    assert found.splitlines() == [
        "1",
        "00:00:01,000 --> 00:00:02,500 X1:40 X2:60",
        "FOUR THREE",
        "<i>TWO</i> ONE",
        "",
        "2",
        "00:00:03,000 --> 00:00:04,000",
        "SIX FIVE -",
        "SEVEN -",
        "",
        "3",
        "00:00:05,000 --> 00:00:06,000",
        "",
    ]
    vtt = read_subtitles(VTT.encode(), "a.vtt").translated(backwards).decode()
    assert "TWO ONE" in vtt
    assert vtt.count("<v Ann>") == 1
    assert "NOTE this stays\n\nSTYLE\n::cue { color: red }\n\nintro\n00:01.000 --> 00:02.000 align:start\n" in vtt


@pytest.mark.parametrize(
    "text", [SRT.removeprefix("\ufeff"), VTT, SRT.removeprefix("\ufeff").replace("\n", "\r\n"), ""]
)
def test_what_a_model_leaves_as_it_is_comes_out_as_it_went_in(text: str) -> None:
    found = read_subtitles(text.encode(), "a.srt").translated(identity).decode()
    assert found.split() == text.split()
    assert found.count("-->") == text.count("-->")


def test_broken_files_are_named_in_one_sentence() -> None:
    with pytest.raises(RegardError, match=r"a\.srt, line 2: not the times of a cue"):
        read_subtitles(b"1\n00:00:01 --> later\nx\n", "a.srt")
    with pytest.raises(RegardError, match=r"a\.srt: has no cue"):
        read_subtitles(b"just some text\n", "a.srt")


def test_lines_are_about_equal() -> None:
    assert wrapped("one two three four", 2) == "one two\nthree four"
    assert wrapped("<font color='a b'>one two</font>", 2) == "<font color='a b'>one\ntwo</font>"
    assert wrapped("one", 3) == "one"
    assert wrapped("a b c d", 1) == "a b c d"
