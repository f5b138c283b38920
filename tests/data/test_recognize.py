"""A file's content says how it is read, before its name does."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from regard.base.errors import RegardError, UsageError
from regard.data.format import Doubt, Hints
from regard.data.formats.csv import Csv
from regard.data.formats.json import Json
from regard.data.formats.jsonl import Jsonl
from regard.data.formats.marked import Marked
from regard.data.formats.text import Text
from regard.data.formats.tmx import Tmx
from regard.data.formats.tsv import Tsv
from regard.data.formats.xlsx import Xlsx
from regard.data.recognize import format_by_name, recognize
from tests.data.formats.workbook import write_workbook

PAIR = {"en": "Go now.", "de": "Geh jetzt."}
UNIT = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
TMX = f'<?xml version="1.0"?><tmx><body>{UNIT}</body></tmx>'
FORMS = {
    "Go.\tVa !\tCC-BY 2.0 (France)\nRun.\tCours !\tCC-BY 2.0 (France)\n": Tsv(columns=(1, 2)),
    '"Go."\t"Va !"\n"Run."\t"Cours !"\n': Csv(columns=(1, 2), delimiter="\t"),
    '"He said ""no""."\tNon\nRun.\tCours !\n': Csv(columns=(1, 2), delimiter="\t"),
    '"No," he said.\tNon\nRun.\tCours !\n': Tsv(columns=(1, 2)),
    "en;de\nGo.;Geh.\nRun.;Lauf.\n": Csv(columns=("en", "de"), header=True, delimiter=";"),
    json.dumps(PAIR) + "\n" + json.dumps(PAIR): Jsonl(keys=("en", "de")),
    json.dumps([PAIR, PAIR]): Json(keys=("en", "de")),
    json.dumps([PAIR, PAIR], indent=1): Json(keys=("en", "de")),
    TMX: Tmx(("en", "de")),
    "Go . ||| Geh .\nRun . ||| Lauf .\n": Marked(columns=(1, 2)),
    "IN: jump OUT: I_JUMP\nIN: run twice OUT: I_RUN I_RUN\n": Marked(columns=(1, 2), first="IN:", between="OUT:"),
    "#separator:tab\n#html:true\nGo.\tGeh.\nRun #1:\tLauf.\n": Tsv(columns=(1, 2)),
    '#separator:tab\n"Say ""a"""\t"Sag ""a"""\n"b"\t"c"\n': Csv(columns=(1, 2), delimiter="\t"),
    "#1: a text\n#html is text\n": Text(),
    "Go | Geh\nRun | Lauf\n" * 3: Marked(columns=(1, 2), between=" | "),
    "Go now -> Geh jetzt\n" * 5: Marked(columns=(1, 2), between=" -> "),
    "if a | b -> c\nelse -> d\n" * 3: Marked(columns=(1, 2), between=" -> "),
    "Go | Geh\nRun\n" * 5: Text(),
    "| Go |\n" * 5: Text(),
    "Just a text.\nWith commas, and more.\n": Text(),
    "Note: as said: so.\nNote: nothing more.\n": Text(),
    "Go . ||| Geh .\nRun .\n": Text(),
    "[1] A note.\n{braces} are text too\n": Text(),
    "a\tb\n" + "no tab here\n" * 30: Text(),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("text", FORMS, ids=range(len(FORMS)))
def test_the_content_tells_the_format_whatever_the_name(text: str, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode("utf-8-sig"))
    assert recognize([path]).format == FORMS[text]


@pytest.mark.parametrize("names", [["a.en.srt", "a.de.srt"], ["a.po"], ["a.parquet"], ["a.html"], ["newstest.sgm"]])
def test_text_that_does_not_stand_in_lines_is_told(names: list[str], tmp_path: Path) -> None:
    files = [tmp_path / name for name in names]
    for file in files:
        file.write_text("1\n00:00:01,000 --> 00:00:02,000\nA man.\n", encoding="utf-8")
    with pytest.raises(
        UsageError,
        match=r"is (a subtitle file|a message catalog|a Parquet file|a web page|a test set with markup), not",
    ):
        recognize(files)
    assert recognize(files[:1], name="text").format == Text()


def test_settings_of_anki_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "deck.txt"
    path.write_text("#separator:tab\n#tags column:3\nGo.\tGeh.\tx\nRun.\tLauf.\tx\n#html:\ty\tx\n", encoding="utf-8")
    rows = [row.texts for row in recognize([path], Hints(columns=(1, 2))).format.rows([path]) if any(row.texts)]
    assert rows == [("Go.", "Geh."), ("Run.", "Lauf."), ("#html:", "y")]


def test_a_spreadsheet_is_told_by_its_bytes(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "data", {"Data": [["en", "de"], ["a", "b"]]})
    assert recognize([path]).format == Xlsx(columns=("en", "de"), header=True, sheet="Data")


def test_two_files_are_parallel_text(tmp_path: Path) -> None:
    found = recognize([Path("a.en"), Path("a.de")])
    assert (found.format, found.source, found.target) == (Text(), "en", "de")
    assert recognize([Path("a.en"), Path("a.de")], Hints(target="gsw")).target == "gsw"
    with pytest.raises(UsageError, match=r"a\.csv and b\.csv: each holds both sides; give one of them"):
        recognize([Path("a.csv"), Path("b.csv")])


def test_tabs_in_some_lines_are_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text("a\tb\nc\td\ne\n", encoding="utf-8")
    with pytest.raises(Doubt, match=r"most lines have 1 tab, but others 0, as in “e”: a table or plain text\?.*tsv or"):
        recognize([path])
    assert recognize([path], name="text").format == Text()
    with pytest.raises(RegardError, match="line 3: has 1 column, but line 1 has 2"):
        recognize([path], name="tsv")


@pytest.mark.parametrize("dash", ["-", "–", "=", "/"])
def test_a_dash_in_every_line_is_in_doubt(dash: str, tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text(f"the cat {dash} die Katze\nwell-known {dash} bekannt\n" * 3, encoding="utf-8")
    with pytest.raises(Doubt, match=f"words.txt: a {dash} parts every line.*--format marked or --format text"):
        recognize([path])
    found = recognize([path], name="marked").format
    assert next(found.rows([path])).texts == ("the cat", "die Katze")
    assert found.words() == f"lines parted by {dash}, columns 1 and 2, no header"
    assert recognize([path], name="text").format == Text()


@pytest.mark.parametrize(
    ("line", "name", "form"),
    [
        ("Go now.;Geh jetzt.\n", "a semicolon", Csv(columns=(1, 2), delimiter=";")),
        ('"Go, now.","Geh jetzt."\n', "a comma", Csv(columns=(1, 2))),
        ("to go: gehen\n", "a :", Marked(columns=(1, 2), between=": ")),
    ],
)
def test_pairs_without_a_header_are_no_running_text(line: str, name: str, form: object, tmp_path: Path) -> None:
    """They were taken for one side of text, without a word of doubt."""
    path = tmp_path / "words.txt"
    path.write_text(line * 20, encoding="utf-8")
    way = "csv" if isinstance(form, Csv) else "marked"
    with pytest.raises(Doubt, match=f"{name} parts every line: pairs or plain text.*--format {way} or --format text"):
        recognize([path])
    assert recognize([path], name=way).format == form
    path.write_text(line * 20 + "All of this is a text.\n", encoding="utf-8")
    assert recognize([path]).format == Text()


def test_a_csv_that_is_tab_separated_is_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"Hi," he said.\tHallo\nGo, now.\tGeh\n', encoding="utf-8")
    assert recognize([tmp_path / "a.csv"]).format == Tsv(columns=(1, 2))


def test_a_title_above_tabs_is_no_doubt(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Our pairs\n" + "one\teins\ntwo\tzwei\n" * 3, encoding="utf-8")
    assert recognize([path]).format == Tsv(columns=(1, 2), title=1)
    path.write_text("one\n" * 3 + "two\tzwei\n" * 3 + "three\n", encoding="utf-8")
    with pytest.raises(Doubt, match="a table or plain text"):
        recognize([path])


def test_columns_of_a_text_without_any_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(UsageError, match="has no columns"):
        recognize([tmp_path / "a.txt"], Hints(columns=(1, 2)))


def test_archives_and_folders_are_no_files_of_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("train.en", "x")
    with pytest.raises(UsageError, match=r"a\.zip: is an archive; name the files in it: .*a\.zip/train\.en$"):
        recognize([tmp_path / "a.zip"])
    with pytest.raises(UsageError, match="is a folder"):
        recognize([tmp_path])
    with pytest.raises(RegardError, match=r"b\.txt: cannot be read: there is no such file"):
        recognize([tmp_path / "b.txt"])
    with pytest.raises(UsageError, match=r"--format: unknown 'tvs' \(did you mean 'tsv'\?\)"):
        recognize([tmp_path / "b.txt"], name="tvs")


def test_older_run_files_are_read_by_name() -> None:
    assert format_by_name([Path("a.tsv.gz")]) == Tsv()
    assert format_by_name([Path("a.ndjson")]) == Jsonl()
    assert format_by_name([Path("a.csv"), Path("b.csv")]) == Text()
    assert format_by_name([Path("a.txt")]) is None


def test_the_files_of_a_graph_are_its_folder(tmp_path: Path) -> None:
    files = [tmp_path / "edges.tsv", tmp_path / "labels.tsv"]
    for file in files:
        file.write_text("1\t2\n", encoding="utf-8")
    with pytest.raises(UsageError, match="a graph is the folder that holds its files"):
        recognize(files)
