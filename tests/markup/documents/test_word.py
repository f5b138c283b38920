import io
import zipfile

import docx
import pytest
from docx.oxml import parse_xml

from regard.base.errors import RegardError
from regard.markup.documents import word
from regard.markup.documents.word import read_word
from tests.markup.fakes import backwards, identity

SPACE = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def document() -> "docx.document.Document":
    made = docx.Document()
    made.add_heading("A big title", 1)
    told = made.add_paragraph("the ")
    told.add_run("black").bold = True
    told.add_run(" dog").bold = True
    told.add_run(" sees ")
    told.add_run("the").italic = True
    told.add_run(" cat\tand more\nlast line")
    made.add_table(1, 2).cell(0, 1).text = "three {name}"
    made.sections[0].header.paragraphs[0].text = "head line"
    made.add_paragraph()
    return made


def saved(made: "docx.document.Document") -> bytes:
    written = io.BytesIO()
    made.save(written)
    return written.getvalue()


def opened(content: bytes) -> "docx.document.Document":
    return docx.Document(io.BytesIO(content))


def runs(paragraph) -> list[tuple[str, bool | None, bool | None]]:
    return [(run.text, run.bold, run.italic) for run in paragraph.runs]


def test_bold_and_italic_move_with_their_words() -> None:
    found = opened(read_word(saved(document()), "a.docx").translated(backwards))
    assert [paragraph.style.name for paragraph in found.paragraphs[:2]] == ["Heading 1", "Normal"]
    assert found.paragraphs[0].text == "TITLE BIG A"
    assert runs(found.paragraphs[1]) == [
        ("CAT ", None, None),
        ("THE", None, True),
        (" SEES ", None, None),
        ("DOG BLACK", True, None),
        (" THE", None, None),
        ("\t", None, None),
        ("MORE AND", None, None),
        ("\n", None, None),
        ("LINE LAST", None, None),
    ]
    assert [cell.text for cell in found.tables[0].rows[0].cells] == ["", "{name} THREE"]
    assert found.sections[0].header.paragraphs[0].text == "LINE HEAD"


def test_what_a_model_leaves_as_it_is_reads_the_same() -> None:
    content = saved(document())
    before, after = opened(content), opened(read_word(content, "a.docx").translated(identity))
    assert [one.text for one in after.paragraphs] == [one.text for one in before.paragraphs]


def test_links_and_fields_stay_whole() -> None:
    made = docx.Document()
    made.paragraphs or made.add_paragraph()
    paragraph = made.paragraphs[0]._p
    paragraph.append(parse_xml(f'<w:hyperlink {SPACE} w:anchor="x"><w:r><w:t>one link</w:t></w:r></w:hyperlink>'))
    for inner in (
        '<w:t xml:space="preserve"> page </w:t>',
        '<w:fldChar w:fldCharType="begin"/>',
        "<w:instrText>PAGE</w:instrText>",
        '<w:fldChar w:fldCharType="separate"/>',
        "<w:t>7</w:t>",
        '<w:fldChar w:fldCharType="end"/>',
        '<w:t xml:space="preserve"> of many pages</w:t>',
    ):
        paragraph.append(parse_xml(f"<w:r {SPACE}>{inner}</w:r>"))
    content = saved(made)
    document = read_word(content, "a.docx")
    assert document.text == "one link page  of many pages"
    [found, *_] = opened(document.translated(backwards)).paragraphs
    xml = found._p.xml
    places = [xml.index(part) for part in ('"begin"', "PAGE</w:instrText>", '"separate"', ">7<", '"end"')]
    assert places == sorted(places)
    assert xml.count("<w:hyperlink") == 1
    assert "LINK ONE" in found.text


def test_what_is_no_document_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"", b"no zip", saved(document())[:400]):
        with pytest.raises(RegardError, match=r"a\.docx: not a Word document \(\.docx\) that can be read"):
            read_word(content, "a.docx")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x", b"0" * 2_000_000)
    monkeypatch.setattr(word, "_MOST_BYTES", 1 << 20)
    with pytest.raises(RegardError, match=r"a\.docx: unpacks to 1 MB, but at most 1 MB are read"):
        read_word(packed.getvalue(), "a.docx")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(word, "import_module", missing)
    with pytest.raises(RegardError, match=r"pip install 'regard\[documents\]'"):
        read_word(b"", "a.docx")
