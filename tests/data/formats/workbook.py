"""A small workbook, written by hand: sheets of texts and numbers, and merged cells."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def write_workbook(
    path: Path, sheets: dict[str, Sequence[Sequence[object]]], merged: str = "", first_row: int = 1
) -> Path:
    """Write sheets of rows of cells; `merged` is a range such as A2:B2 of the last sheet."""
    names = list(sheets)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_LINKS}"><sheets>'
        + "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(names, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="r{at}" Type="{_LINKS}/worksheet" Target="worksheets/sheet{at}.xml"/>'
            for at in range(1, len(names) + 1)
        )
        + "</Relationships>",
    }
    for at, name in enumerate(names, 1):
        last = merged and at == len(names)
        ranges = f'<mergeCells count="1"><mergeCell ref="{merged}"/></mergeCells>' if last else ""
        rows = "".join(_row(number, cells) for number, cells in enumerate(sheets[name], first_row))
        parts[f"xl/worksheets/sheet{at}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData>{ranges}</worksheet>'
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in parts.items():
            archive.writestr(part, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}')
    return path


def _row(number: int, cells: Sequence[object]) -> str:
    inside = "".join(_cell(f"{chr(65 + at)}{number}", cell) for at, cell in enumerate(cells))
    return f'<row r="{number}">{inside}</row>'


def _cell(place: str, value: object) -> str:
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'
