"""Translation memories: languages, markup in segments, and files made to harm."""

import gzip
from pathlib import Path

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.format import Doubt, Hints, TextRow
from regard.data.formats.tmx import Tmx

HEAD = '<?xml version="1.0" encoding="{}"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header/><body>\n'


def unit(**segments: str) -> str:
    inside = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in segments.items())
    return f"<tu><note>no text</note>{inside}</tu>\n"


def put(folder: Path, *units: str, encoding: str = "UTF-8") -> Path:
    path = folder / "a.tmx"
    path.write_bytes((HEAD.format(encoding) + "".join(units) + "</body></tmx>").encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16", "ISO-8859-1"])
def test_segments_are_read_without_their_markup(encoding: str, tmp_path: Path) -> None:
    marked = '<bpt i="1">&lt;b&gt;</bpt>Très <hi>bien</hi><ept i="1">&lt;/b&gt;</ept> &amp;\nplus<ph>{1}</ph>.'
    path = put(tmp_path, unit(en="One.", fr=marked), unit(fr="Deux."), encoding=encoding)
    found = Tmx.recognize(path, Hints())
    assert (found.source, found.target, found.format) == ("en", "fr", Tmx(("en", "fr")))
    assert list(found.format.rows([path])) == [TextRow(4, ("One.", "Très bien & plus.")), TextRow(6, ("", "Deux."))]
    assert found.format.words() == "TMX, from en to fr"


def test_a_language_is_read_in_any_region(tmp_path: Path) -> None:
    path = put(tmp_path, unit(**{"en-US": "Color", "EN-gb": "Colour", "de": "Farbe"}))
    assert list(Tmx(("de", "en_GB")).rows([path])) == [TextRow(4, ("Farbe", "Colour"))]
    assert list(Tmx(("EN", "de")).rows([path])) == [TextRow(4, ("Color", "Farbe"))]
    with pytest.raises(Doubt, match="its languages are en-US, EN-gb, de; say it with --source en-US --target de"):
        Tmx.recognize(path, Hints())
    assert Tmx.recognize(path, Hints(target="en-GB", source="de")).format == Tmx(("de", "en-GB"))
    with pytest.raises(ConfigError, match="unknown 'fr'; its languages are"):
        Tmx.recognize(path, Hints(source="fr"))
    with pytest.raises(ConfigError, match="source and target are both en"):
        Tmx(("en", "EN"))


def test_one_language_is_no_translation(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="all of its texts are in en; a translation needs two languages"):
        Tmx.recognize(put(tmp_path, unit(en="One.") + unit(en="Two.")), Hints())


def test_one_language_said_leaves_the_other(tmp_path: Path) -> None:
    path = put(tmp_path, unit(en="a", de="b"))
    assert Tmx.recognize(path, Hints(source="de")).format == Tmx(("de", "en"))
    assert Tmx.recognize(path, Hints(target="en")).format == Tmx(("de", "en"))


BOMB = """<?xml version="1.0"?>
<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<tmx><body><tu><tuv xml:lang="en"><seg>&b;</seg></tuv></tu></body></tmx>"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<tmx><body><tu><tuv xml:lang="en"><seg>&x;</seg></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (BOMB, "line 2: declares the entity 'a'; a file with entities of its own is not read"),
        (OUTSIDE, "line 2: declares the entity 'x'"),
        ("<tmx><body><tu>\n<tuv><seg>a</seg></tuv></tu></body></tmx>", "line 2: <tuv> names no language"),
        ("<tmx><body>\n<tu></body></tmx>", "line 2: not valid XML: mismatched tag"),
        ("<tmx><body>\n", "line 2: not valid XML: no element found"),
        ("<html></html>", "line 1: XML, but <html> is not <tmx>"),
        ("<tmx><body/></tmx>", "holds no translation unit"),
        ("plain text", "line 1: not valid XML: syntax error"),
    ],
)
def test_what_is_wrong_is_told(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "a.tmx.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(RegardError, match=fault):
        Tmx.recognize(tmp_path / "a.tmx.gz", Hints())
