"""JSON lines: flat, nested as Hugging Face's sets have them, and wrong ones."""

import json
from pathlib import Path

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.format import Doubt, Hints, TextRow
from regard.data.formats.jsonl import Jsonl


def put(folder: Path, *records: object) -> Path:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_nested_translations_tell_their_languages(tmp_path: Path) -> None:
    path = put(tmp_path, {"id": 3, "translation": {"en": "one\ntwo", "de": "eins"}})
    found = Jsonl.recognize(path, Hints())
    assert found.format == Jsonl(keys=("translation.en", "translation.de"))
    assert (found.source, found.target) == ("en", "de")
    assert list(found.format.rows([path])) == [TextRow(1, ("one two", "eins"))]
    other = Jsonl.recognize(path, Hints(source="de", target="en"))
    assert other.format == Jsonl(keys=("translation.de", "translation.en"))
    assert found.format.words() == "JSON lines, keys translation.en and translation.de"


@pytest.mark.parametrize(
    ("record", "keys"),
    [
        ({"source": "a", "target": "b", "note": "c"}, ("source", "target")),
        ({"en": "a", "fr": "b", "url": "c"}, ("en", "fr")),
        ({"question": "a", "answer": "b", "n": 3}, ("question", "answer")),
        ({"text": "a", "n": 3}, ("text",)),
        ({"src": "a", "tgt": "b", "src_lang": "en", "tgt_lang": "de"}, ("src", "tgt")),
        ({"instruction": "a", "input": "b", "output": "c"}, ("input", "output")),
        ({"instruction": "a", "input": "", "output": "c"}, ("instruction", "output")),
        ({"data": {"source": "a", "target": "b", "id": "x"}}, ("data.source", "data.target")),
        ({"source": "a", "translation": "b", "note": "c"}, ("source", "translation")),
        ({"id": "0", "translation": {"en": "a", "fr": "b"}}, ("translation.en", "translation.fr")),
        ({"id": "train-7", "en": "a", "text": "b"}, ("en", "text")),
        ({"id": "rumah", "en": "house"}, ("id", "en")),
        ({"a.b": "x", "c": {"d": "y"}}, ("a.b", "c.d")),
    ],
)
def test_keys_are_recognized(record: dict[str, object], keys: tuple[str, ...], tmp_path: Path) -> None:
    path = put(tmp_path, record)
    found = Jsonl.recognize(path, Hints()).format
    assert found == Jsonl(keys=keys)
    assert len(next(found.rows([path])).texts) == len(keys)


def test_more_than_two_texts_are_in_doubt(tmp_path: Path) -> None:
    path = put(tmp_path, {"translation": {"en": "a", "de": "b", "fr": "c"}})
    with pytest.raises(Doubt, match=r"say it with --columns translation\.en,translation\.de"):
        Jsonl.recognize(path, Hints())
    chosen = Jsonl.recognize(path, Hints(columns=("translation.fr", "translation.en")))
    assert chosen.format == Jsonl(keys=("translation.fr", "translation.en"))
    with pytest.raises(RegardError, match=r"'translation\.es' must be a text, but is missing"):
        Jsonl.recognize(path, Hints(columns=("translation.es", "translation.en")))


@pytest.mark.parametrize(
    "record",
    [{"en": ["a", "b"], "de": ["c", "d"]}, {"data": [{"en": "a", "de": "b"}]}, {f"a{at}": "b" for at in range(9)}],
)
def test_one_object_for_all_texts_is_told(record: object, tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="is one JSON object for all texts; an object for each pair is wanted"):
        Jsonl.recognize(put(tmp_path, record), Hints())


def test_texts_that_are_not_read_are_counted(tmp_path: Path) -> None:
    assert Jsonl.recognize(put(tmp_path, {"en": "a", "fr": "b", "n": 3}), Hints()).besides == ""
    found = Jsonl.recognize(put(tmp_path, {"en": "a", "fr": "b", "url": "c"}), Hints())
    assert found.besides == ", 1 other text not read"


def test_inputs_that_most_objects_lack_are_in_doubt(tmp_path: Path) -> None:
    records = [{"instruction": "a", "input": "b" * (at == 0), "output": "c"} for at in range(3)]
    with pytest.raises(Doubt, match=r"its texts \(instruction, input, output\) do not tell"):
        Jsonl.recognize(put(tmp_path, *records), Hints())


def test_null_is_a_missing_text(tmp_path: Path) -> None:
    path = put(tmp_path, {"en": "a", "de": "b"}, {"en": "c", "de": None})
    assert [row.texts for row in Jsonl.recognize(path, Hints()).format.rows([path])] == [("a", "b"), ("c", "")]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            '{"messages": [{"role": "user", "content": "a"}]}\n{"messages": []}',
            "'messages' is a list of objects, as of a chat; an object",
        ),
        ('{\n "en": "a",\n "de": "b"\n}\n', "line 1: not a JSON object: it does not end on its line"),
        ('["a", "b"]\n', "line 1: not a JSON object: an object for each pair is wanted"),
    ],
)
def test_other_shapes_are_told_what_is_wanted(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(RegardError, match=fault):
        Jsonl.recognize(tmp_path / "a.jsonl", Hints())


def test_a_document_is_named_by_its_key(tmp_path: Path) -> None:
    assert Jsonl.recognize(put(tmp_path, {"en": "a", "de": "b", "doc": "1"}), Hints()).document == "doc"
    assert Jsonl.recognize(put(tmp_path, {"en": "a", "de": "b", "doc": 1}), Hints()).document is None


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"en": "a", "de": "b"}\n\n{"en": "a", "de": ["b"]}\n{"en"', encoding="utf-8")
    rows = Jsonl(keys=("en", "de")).rows([tmp_path / "a.jsonl"])
    assert [next(rows), next(rows)] == [TextRow(1, ("a", "b")), TextRow(2, ("", ""))]
    with pytest.raises(RegardError, match="line 3: 'de' must be a text, but is a list"):
        next(rows)
    with pytest.raises(RegardError, match="line 4: not a JSON object"):
        Jsonl.recognize(tmp_path / "a.jsonl", Hints())
    with pytest.raises(ConfigError, match="keys: en is given twice"):
        Jsonl(keys=("en", "en"))
    with pytest.raises(ConfigError, match="keys: one or two names are wanted, not 3"):
        Jsonl(keys=("a", "b", "c"))


def test_sets_by_other_names_are_told(tmp_path: Path) -> None:
    path = put(tmp_path, *[{"set": [1, 2], "target": 2}] * 3)
    with pytest.raises(RegardError, match=r"a set has the keys elements and target, .* and this has set, target"):
        Jsonl.recognize(path, Hints())
