"""Files of labeled examples, in every way they are written."""

import json
from pathlib import Path

import pytest

from regard.base.errors import ConfigError, RegardError
from regard.data.labeled_files import labeled_digest, labels_in, read_labeled, tells_labels
from regard.data.labels import LabeledExample
from tests.data.formats.workbook import write_workbook


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_tables_and_objects_are_read(tmp_path: Path) -> None:
    table = written(tmp_path, "a.tsv", "yes\tone\ttwo\n\nno\tthree\tfour\n")
    assert read_labeled(table) == [
        LabeledExample(("yes",), ("one", "two"), 1),
        LabeledExample(("no",), ("three", "four"), 3),
    ]
    objects = written(tmp_path, "a.jsonl", '{"y": 1, "x": "one"}\n{"y": ["a", "b"], "x": "two"}\n')
    several = read_labeled(objects, keys=("y", "x"), labels="several")
    assert [example.labels for example in several] == [("1",), ("a", "b")]
    commas = written(tmp_path, "b.tsv", "a, b\tone\n\ttwo\n")
    assert [example.labels for example in read_labeled(commas, labels="several")] == [("a", "b"), ()]


def test_all_kinds_give_the_same_examples(tmp_path: Path) -> None:
    wanted = [(("good",), ("a fine, funny film",)), (("bad",), ("dull and long",))]
    pairs = [(label, text) for (label,), (text,) in wanted]
    csv = written(tmp_path, "a.csv", 'id,text,label\n1,"a fine, funny film",good\n2,dull and long,bad\n')
    array = written(tmp_path, "a.json", json.dumps([{"sentence": text, "label": label} for label, text in pairs]))
    sheet = tmp_path / "a.xlsx"
    write_workbook(sheet, {"one": [["label", "text"], *map(list, pairs)]})
    for number, (label, text) in enumerate(pairs):
        written(tmp_path / "folder" / label, f"{number}.txt", text.replace(" ", "\n"))
    for path in (csv, array, sheet):
        assert [(one.labels, one.texts) for one in read_labeled(path)] == wanted
    assert {(one.labels, one.texts) for one in read_labeled(tmp_path / "folder")} == set(wanted)


def test_what_holds_labels_is_told(tmp_path: Path) -> None:
    rows = [(("good", "bad")[at % 2], f"film number {at}") for at in range(40)]
    assert tells_labels(written(tmp_path, "a.tsv", "".join(f"{label}\t{text}\n" for label, text in rows)))
    assert not tells_labels(written(tmp_path, "b.tsv", "".join(f"{text} de\t{text}\n" for _, text in rows)))
    objects = "".join(json.dumps({"text": text, "label": at % 3}) + "\n" for at, (_, text) in enumerate(rows))
    assert tells_labels(written(tmp_path, "a.jsonl", objects))
    assert labels_in(tmp_path / "a.jsonl") == "one"
    lists = written(tmp_path, "c.jsonl", '{"text": "x", "labels": ["a", "b"]}\n{"text": "y", "labels": []}\n')
    assert tells_labels(lists) and labels_in(lists) == "several"
    assert not tells_labels(written(tmp_path, "d.jsonl", '{"en": "x", "de": "y"}\n'))
    reviewed = "".join(f"{text}\t{text} de\tAnn\n" for _, text in rows)
    assert not tells_labels(written(tmp_path, "f.tsv", reviewed))  # one text for all of them tells nothing
    checked = "".join(f"{text},{text} de,{('ok', '')[at % 2]}\n" for at, (_, text) in enumerate(rows))
    for header in ("English,German,No\n", "src,tgt,split\n"):  # names of both sides tell pairs
        assert not tells_labels(written(tmp_path, "g.csv", header + checked))
    assert tells_labels(written(tmp_path, "g.csv", "text,text2,label\n" + checked))
    assert not tells_labels(written(tmp_path, "e.tsv", "broken\n"))


def test_the_hash_of_a_folder_follows_its_files(tmp_path: Path) -> None:
    for label in "ab":
        written(tmp_path / "f" / label, "1.txt", label)
    before = labeled_digest(tmp_path / "f")
    assert before == labeled_digest(tmp_path / "f")
    written(tmp_path / "f" / "a", "1.txt", "c")
    assert labeled_digest(tmp_path / "f") != before


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.tsv", "yes one\n", "line 1: must be a label and one or two texts, split at tabs, but has 1 column"),
        ("a.tsv", "yes\tone\nno\ta\tb\n", "line 2: has 2 texts, but the lines before have 1"),
        ("a.tsv", "\tone\n", "line 1: must have one label; set data.labels"),
        ("a.tsv", "\n", "there are no examples"),
        ("a.jsonl", '{"label": "a"}\n', "line 1: must be a JSON object with label, text"),
        ("a.jsonl", '{"label": "a", "text": 3}\n', "line 1: text must be texts"),
        ("a.jsonl", '{"label": ["a", "b"], "text": "x"}\n', "line 1: must have one label"),
    ],
)
def test_a_mistake_names_its_line(tmp_path: Path, name: str, text: str, complaint: str) -> None:
    with pytest.raises(RegardError, match=complaint):
        read_labeled(written(tmp_path, name, text))


def test_a_format_must_be_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is this tsv or jsonl"):
        read_labeled(written(tmp_path, "a.txt", "yes\tone\n"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegardError, match=r"must hold a folder of \.txt files for each label"):
        read_labeled(tmp_path / "empty")
