"""Tab-separated text: nothing is quoted."""

from pathlib import Path

from regard.data.format import Hints, TextRow
from regard.data.formats.tsv import Tsv


def test_quotes_are_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('"Go," he said.\tVa !\n"\t«\n', encoding="utf-8")
    found = Tsv.recognize(path, Hints()).format
    assert found == Tsv(columns=(1, 2))
    assert list(found.rows([path])) == [TextRow(1, ('"Go," he said.', "Va !")), TextRow(2, ('"', "«"))]
    assert found.words() == "tab-separated, columns 1 and 2, no header"


def test_the_plain_form_has_the_fingerprint_of_older_runs() -> None:
    assert Tsv().key() == Tsv(columns=(1, 2)).key() == ["tsv", "source", "target"]
    keys = {tuple(made.key()) for made in (Tsv(), Tsv(columns=(2, 1)), Tsv(header=True), Tsv(columns=(1, 3)))}
    assert len(keys) == 4
