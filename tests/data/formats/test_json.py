"""One JSON array, read object by object."""

import json
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.format import Hints, TextRow
from regard.data.formats.json import Json


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_of_any_size_is_read(indent: int | None, tmp_path: Path) -> None:
    records = [{"en": f"line {at} é" * 5, "de": f"[{at}]"} for at in range(3_000)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(records, indent=indent, ensure_ascii=False), encoding="utf-8")
    found = Json.recognize(path, Hints())
    assert found.format == Json(keys=("en", "de"))
    rows = list(found.format.rows([path]))
    assert [row.texts for row in rows] == [(record["en"], record["de"]) for record in records]
    assert rows[-1].line == (1 if indent is None else 2 + 4 * 2_999)
    assert found.format.words() == "JSON array, keys en and de"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[{"en": "a", "de": "b"},\n{"en": ]', "line 2: not a JSON object"),
        ('[{"en": "a", "de": "b"},\n', "line 2: the JSON array that begins the file does not end"),
        ('{"en": "a"}', "line 1: an array of objects is wanted"),
        ("[1, 2]", "line 1: not a JSON object: 1"),
        ("[" * 5_000, "line 1: not a JSON object"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match=fault):
        list(Json(keys=("en", "de")).rows([tmp_path / "a.json"]))


def test_rows_are_numbered_by_lines(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('\n[\n\n{"en": "a", "de": "b"}\n,{"en":\n"c", "de": "d"}]', encoding="utf-8")
    rows = list(Json(keys=("en", "de")).rows([tmp_path / "a.json"]))
    assert rows == [TextRow(4, ("a", "b")), TextRow(5, ("c", "d"))]
