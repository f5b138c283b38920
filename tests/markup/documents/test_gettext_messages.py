import polib
import pytest

from regard.base.errors import RegardError
from regard.decoding.translation import Translation
from regard.markup.documents import gettext_messages
from regard.markup.documents.gettext_messages import read_messages
from tests.markup.fakes import backwards

PO = """# head
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n<5 ? 1 : 2);\\n"

#. a comment
#: a.c:1
#, c-format, fuzzy
msgctxt "menu"
msgid "open %s now"
msgstr ""

#, python-format
msgid "one %(count)d file"
msgid_plural "%(count)d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

msgid "kept"
msgstr "behalten"

msgid ""
"first {0}\\n"
"  second\\n"
msgstr ""

#~ msgid "old"
#~ msgstr ""
"""


def forgetful(texts: list[str]) -> list[Translation]:
    return [Translation(text.replace("%s", "").replace("%(count)d", "").upper(), 0.0, ()) for text in texts]


def test_what_has_no_translation_gets_one_and_everything_else_stays() -> None:
    found = polib.pofile(read_messages(PO.encode(), "a.po").translated(backwards).decode())
    first, plural, kept, lines, old = found
    assert (first.msgid, first.msgctxt, first.flags) == ("open %s now", "menu", ["c-format", "fuzzy"])
    assert (first.comment, first.occurrences, first.msgstr) == ("a comment", [("a.c", "1")], "NOW %s OPEN")
    assert plural.msgstr_plural == {0: "FILE %(count)d ONE", 1: "FILES %(count)d", 2: "FILES %(count)d"}
    assert kept.msgstr == "behalten"
    assert lines.msgstr == "{0} FIRST\n  SECOND\n"
    assert old.obsolete
    assert not old.msgstr
    assert found.metadata["Plural-Forms"].startswith("nplurals=3")


def test_placeholders_are_kept_by_any_model() -> None:
    found = polib.pofile(read_messages(PO.encode(), "a.po").translated(forgetful).decode())
    assert found[0].msgstr.count("%s") == 1
    assert all(text.count("%(count)d") == 1 for text in found[1].msgstr_plural.values())


def test_a_broken_catalog_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b'msgid "a"\nmsgid no quote\n', b'msgid "a"\nmsgstr "b\n', b'msgid "a"\nfoo bar\n'):
        with pytest.raises(RegardError, match=r"a\.po, line 2: not a line of a message catalog, such as msgid"):
            read_messages(content, "a.po")
    with pytest.raises(RegardError, match=r"a\.po: not a message catalog that can be read: Syntax error"):
        read_messages(b'msgstr "x"\n', "a.po")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(gettext_messages, "import_module", missing)
    with pytest.raises(RegardError, match=r"pip install 'regard\[documents\]'"):
        read_messages(b"", "a.po")
