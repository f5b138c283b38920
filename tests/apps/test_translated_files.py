import sys
from pathlib import Path

import pytest

from regard.apps.translated_files import (
    FileSink,
    is_document,
    models_and_input,
    refuse_overwriting,
    refuse_with_document,
    sink,
    suggest_next,
    translate_document,
)
from regard.base.errors import UsageError
from regard.markup.placeholders import Kept
from tests.markup.fakes import backwards, identity


def test_the_last_path_is_the_input_if_it_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "run.1").mkdir()
    (tmp_path / "text").write_text("a")
    folder, text = tmp_path / "run.1", tmp_path / "text"
    assert models_and_input([folder]) == ([folder], None)
    assert models_and_input([text]) == ([text], None)
    assert models_and_input([folder, text]) == ([folder], text)
    assert models_and_input([folder, folder]) == ([folder, folder], None)
    assert models_and_input([folder, Path("b.safetensors")]) == ([folder, Path("b.safetensors")], None)
    assert models_and_input([folder, Path("missing.txt")]) == ([folder], Path("missing.txt"))
    assert models_and_input([folder, Path("missing")]) == ([folder, Path("missing")], None)


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    text, link = tmp_path / "text", tmp_path / "link"
    text.write_text("a")
    link.symlink_to(text)
    refuse_overwriting(tmp_path / "other", [tmp_path, text, None])
    refuse_overwriting(None, [text])
    for out in (text, link):
        with pytest.raises(UsageError, match=rf"{out.name}: is read, and would be lost; give another file after -o"):
            refuse_overwriting(out, [tmp_path, text])


def test_documents_are_told_by_their_endings() -> None:
    assert [is_document(Path(name)) for name in ("a.md", "a.DOCX", "a.txt", "a.en")] == [True, True, False, False]
    assert not is_document(None)
    with pytest.raises(UsageError, match=r"--n-best: cannot be given with a document \(a\.md\)"):
        refuse_with_document(Path("a.md"), json=False, n_best=2)


@pytest.mark.parametrize("name", ["a.xliff", "a.csv", "a.tsv.gz", "a.jsonl", "a.tmx", "a.xlsx", "a.pdf"])
def test_lines_that_are_no_sentences_are_refused(name: str) -> None:
    """They were translated all the same: tags, quotes and names of columns as if they were words."""
    with pytest.raises(UsageError, match="whose lines are no sentences; write its texts into a file, one a line"):
        is_document(Path(name))
    assert not is_document(Path("a.en"))


def test_a_document_is_written_where_it_should_be(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    source, out = tmp_path / "a.md", tmp_path / "b.md"
    source.write_text("# a *b* c\n")
    translate_document(source, out, identity, backwards, Kept())
    assert out.read_text() == "# C *B* A\n"
    translate_document(source, None, identity, backwards, Kept())
    assert capfdbinary.readouterr().out == b"# C *B* A\n"
    with pytest.raises(UsageError, match="give -o"):
        translate_document(tmp_path / "a.docx", None, identity, identity, Kept())


def test_a_file_gets_its_name_once_it_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    with sink(out) as target:
        target.write("é\n")
        target.flush()
        assert isinstance(target, FileSink)
        assert target.fileno() > 0
        assert not out.exists()
    assert out.read_text(encoding="utf-8") == "é\n"
    with pytest.raises(KeyboardInterrupt), sink(out) as target:
        target.write("x")
        raise KeyboardInterrupt
    assert out.read_text(encoding="utf-8") == "é\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    with sink(None) as target:
        assert target is sys.stdout


def test_what_can_be_done_next_is_said_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suggest_next(Path("out.txt"), Path("runs/en-de"))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    suggest_next(Path("out.txt"), Path("runs/en-de"))
    assert capsys.readouterr().err.startswith("next: regard inspect runs/en-de")
