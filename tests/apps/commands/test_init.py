"""From text files to run.toml."""

import bz2
import csv
import gzip
import json
import lzma
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.apps.commands import init
from regard.tasks.run import read_run
from tests.apps import toy
from tests.apps.running import Run, changes
from tests.data.formats.workbook import write_workbook


def test_the_settings_are_complete_and_their_reasons_are_said(texts: Path, run: Run) -> None:
    lines = run("init", "train.en", "train.de", "--dev", "dev.en", "dev.de").lines
    assert lines[:2] == ["read as: plain text, one sentence a line", "200 lines, 4.5 words each"]
    assert lines[-1] == "wrote run.toml; next: regard doctor run.toml, then regard train run.toml"
    text = Path("run.toml").read_text(encoding="utf-8")
    assert all(f"# {reason}" in text for reason in lines[:-1])
    settings = read_run("run.toml")
    assert settings.name == "en-de"
    assert (settings.task.data.source, settings.task.data.target) == ("en", "de")
    assert settings.task.data.train == (Path("train.en"), Path("train.de"))
    assert settings.task.data.dev == (Path("dev.en"), Path("dev.de"))
    assert settings.training.metric == "exact"
    assert settings.task.decoding.patience == 10.0


def test_sentences_are_for_a_transformer_with_one_vocabulary(texts: Path, run: Run) -> None:
    toy.write_pairs(
        texts, "long", [(f"{one} no{len(one)}{at}", f"{other} {at}") for at, (one, other) in enumerate(toy.pairs(50))]
    )
    assert run("init", "long.en", "long.de", "--hold-out", "0", "--model", "transformer").code == 0
    settings = read_run("run.toml")
    assert type(settings.model).__name__ == "Transformer"
    assert (settings.task.subwords.kind, settings.task.subwords.sharing) == ("bpe", "joint")
    assert settings.training.metric == "loss"  # nothing to validate on
    assert settings.task.decoding.patience == 1.0


@pytest.mark.parametrize("model", ["transformer", "seq2seq"])
@pytest.mark.parametrize("repeated", [1, 4])
def test_whatever_model_is_asked_for_can_be_built(texts: Path, run: Run, model: str, repeated: int) -> None:
    toy.write_pairs(texts, "made", [(" ".join([one] * repeated), other.upper()) for one, other in toy.pairs(50)])
    assert run("init", "made.en", "made.de", "--model", model).code == 0
    small = ["--set", "model.width=16", "--set", "training.steps=1"]
    assert run("train", "run.toml", *small).code == 0


def test_one_side_of_text_is_for_a_language_model(texts: Path, run: Run) -> None:
    Path("text.txt.gz").write_bytes(gzip.compress(b"one\n\ntwo\n"))
    Path("dev.txt").write_text("one\n\ntwo\n", encoding="utf-8")
    assert "one side of text: a language model" in run("init", "text.txt.gz", "--dev", "dev.txt").lines
    table = tomllib.loads(Path("run.toml").read_text(encoding="utf-8"))
    assert (table["name"], table["model"]["name"]) == ("text", "gpt")
    assert "decoding" not in table


def test_paths_are_told_from_the_folder_of_the_run_file(texts: Path, run: Run) -> None:
    Path("settings").mkdir()
    assert run("init", "train.en", "train.de", "--out", "settings/a.toml", "--name", "x y").code == 0
    settings = read_run("settings/a.toml")
    assert settings.name == "x y"
    assert settings.task.data.train == (texts / "train.en", texts / "train.de")


def test_odd_names_are_quoted(texts: Path, run: Run) -> None:
    for ending in ("en", "de"):
        Path(f"train.{ending}").rename(f'"тест"\\ text.{ending}')
    assert run("init", '"тест"\\ text.en', '"тест"\\ text.de').code == 0
    assert read_run("run.toml").task.data.train[0].name == '"тест"\\ text.en'


def test_a_hidden_file_has_no_name_to_give(texts: Path, run: Run) -> None:
    Path("train.en").rename(".text")
    assert run("init", ".text").code == 0
    assert read_run("run.toml").name == "run"


def test_the_folder_of_the_run_file_is_made(texts: Path, run: Run) -> None:
    assert run("init", "train.en", "train.de", "-o", "new/one/run.toml").code == 0
    assert read_run(Path("new/one/run.toml"), []).task.data.train[0] == texts / "train.en"  # type: ignore[attr-defined]
    assert Path("new/one/held-out").is_dir()


def test_a_file_that_is_there_stays_unless_told(texts: Path, run: Run) -> None:
    Path("run.toml").write_text("mine", encoding="utf-8")
    done = run("init", "train.en", "train.de")
    assert done.code == 2
    assert done.sentence == "run.toml: is there already; --force writes over it, --out names another file"
    assert Path("run.toml").read_text(encoding="utf-8") == "mine"
    assert run("init", "train.en", "train.de", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["train.en", "train.de", "--model", "tranformer"], 2, "did you mean 'transformer'?"),
        (
            ["train.en", "train.de", "--model", "gpt"],
            2,
            "gpt learns from text, but the task translate gives source and target",
        ),
        (["train.en", "train.de", "--preset", "date"], 2, "model.preset: unknown 'date' (did you mean 'dates'?)"),
        (["train.en", "train.de", "dev.en"], 2, "init: give source and target, or one file, but not 3"),
        (["train.en", "dev.de"], 1, "train.en has 200 lines but dev.de has 12"),
        (["train.en", "train.de", "--dev", "dev.en"], 2, "--dev: must have as many sides as the training text (2)"),
        (["train.en", "train.de", "--dev", "dev.en", "test.xx"], 1, "test.xx: cannot be read: there is no such file"),
        (["missing.en", "train.de"], 1, "missing.en: cannot be read: there is no such file"),
        (["empty", "train.de"], 1, "empty: the file is empty"),
        (["train.en", "train.en"], 2, "train.en: is given twice; source, target, dev and test are different files"),
        (["latin"], 1, "latin, line 1: byte 0xe9 at column 4 is not UTF-8; convert the file to UTF-8"),
        (["three.tsv"], 2, "three.tsv: 3 columns do not tell which are source and target"),
        (["three.tsv", "--columns", "1,4"], 2, "three.tsv: has 3 columns, so there is no column 4"),
        (["three.tsv", "--format", "tvs"], 2, "--format: unknown 'tvs' (did you mean 'tsv'?)"),
        (["bad.jsonl"], 1, "bad.jsonl, line 1: 'target' must be a text, but is missing"),
        (["train.en", "train.de", "--out", "empty/run.toml"], 1, "empty: the folder cannot be made: "),
        (["train.en", "train.de", "--name", "a/b"], 2, "name: must be the name of a folder, but is 'a/b'"),
        (["train.en", "train.de", "--nmae", "x"], 2, "unknown option '--nmae' (did you mean '--name'?)"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_no_file(
    texts: Path, run: Run, arguments: list[str], code: int, sentence: str
) -> None:
    Path("empty").touch()
    Path("latin").write_bytes(b"caf\xe9\n")
    toy.write(Path("three.tsv"), ["a\tb\tc"])
    toy.write(Path("bad.jsonl"), ['{"source": "a"}'])
    done = run("init", *arguments)
    assert sentence in done.sentence
    assert done.code == code
    assert done.out == ""
    assert not Path("run.toml").exists()


# The forms in which people keep their text


SENTENCES = [(one.capitalize() + ".", other.capitalize() + "!") for one, other in toy.pairs(60)]


def test_a_dev_and_a_test_set_are_split_off(texts: Path, run: Run) -> None:
    toy.write(Path("fra.txt"), [f"{one}\t{other}\tCC-BY 2.0 (France)" for one, other in SENTENCES])
    lines = run("init", "fra.txt", "--source", "en", "--target", "fr").lines
    assert lines[0] == "read as: tab-separated, columns 1 and 2, no header, 1 other column not read"
    assert lines[2].startswith("held out, by line: 6 lines for validation (dev) and 6 for a test")
    data = read_run("run.toml").task.data
    assert data.dev == (Path("held-out/en-fr.dev.en"), Path("held-out/en-fr.dev.fr"))
    assert len(Path("held-out/en-fr.test.fr").read_text(encoding="utf-8").splitlines()) == 6
    again = run("init", "fra.txt", "--source", "en", "--target", "fr", "--out", "again.toml")
    assert again.code == 0  # the same lines are held out, so the files may stay
    toy.write(Path("fra.txt"), [f"{other}\t{one}\tCC-BY 2.0 (France)" for one, other in SENTENCES])
    other = run("init", "fra.txt", "--source", "en", "--target", "fr", "--out", "other.toml")
    assert other.code == 2
    assert "is there already with other lines; --force writes over it, --name names others" in other.sentence
    assert not Path("other.toml").exists()


def test_a_tab_separated_text_is_never_taken_for_a_language_model(texts: Path, run: Run) -> None:
    toy.write(Path("odd.txt"), [f"{one}\t{other}" for one, other in SENTENCES] + ["no tab"])
    done = run("init", "odd.txt")
    assert done.code == 2
    assert done.sentence.endswith("a table or plain text? Say it with --format tsv or --format text")
    assert run("init", "odd.txt", "--format", "text").code == 0
    assert read_run("run.toml").task.task_name() == "language"


def test_in_a_terminal_what_is_in_doubt_is_asked(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.write(Path("three.tsv"), [f"{one}\t{other}\t{one} too" for one, other in SENTENCES])
    monkeypatch.setattr(init, "_is_terminal", lambda: True)
    done = CliRunner().invoke(init.app, ["three.tsv"], input="3,2\n")
    assert done.exit_code == 0, done.output
    assert "3 columns do not tell which are source and target" in done.output
    assert read_run("run.toml").task.data.format.columns == (3, 2)


def _tatoeba() -> Path:
    return toy.write(Path("fra.txt"), [f"{one}\t{other}\tCC-BY 2.0 (France)" for one, other in SENTENCES])


def _csv() -> Path:
    with Path("pairs.csv").open("w", newline="", encoding="utf-16") as file:
        rows = [
            ("id", "English", "German"),
            *((at, f'"{one}"; so', other) for at, (one, other) in enumerate(SENTENCES)),
        ]
        csv.writer(file, delimiter=";").writerows(rows)
    return Path("pairs.csv")


def _jsonl() -> Path:
    rows = [json.dumps({"translation": {"en": one, "de": other}}) for one, other in SENTENCES]
    Path("pairs.jsonl.bz2").write_bytes(bz2.compress("\n".join(rows).encode()))
    return Path("pairs.jsonl.bz2")


def _json() -> Path:
    Path("pairs.json").write_text(json.dumps([{"en": one, "de": other} for one, other in SENTENCES]), encoding="utf-8")
    return Path("pairs.json")


def _tmx() -> Path:
    segment = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    units = [f"<tu>{segment.format('en', one)}{segment.format('de', other)}</tu>\n" for one, other in SENTENCES]
    return toy.write(Path("memory.tmx"), [f"<tmx><body>{''.join(units)}</body></tmx>"])


def _xlsx() -> Path:
    return write_workbook(Path("pairs.xlsx"), {"Data": [["English", "German"], *SENTENCES]})


def _zip() -> Path:
    with zipfile.ZipFile("en-de.txt.zip", "w") as archive:
        for side, code in enumerate(("en", "de")):
            archive.writestr(f"Books.en-de.{code}", "".join(f"{pair[side]}\n" for pair in SENTENCES))
        archive.writestr("README", "about\n")
    return Path("en-de.txt.zip")


def _folder() -> Path:
    Path("corpus").mkdir()
    for side, code in enumerate(("en", "de")):
        packed = lzma.compress("".join(f"{pair[side]}\n" for pair in SENTENCES).encode())
        Path(f"corpus/train.{code}.xz").write_bytes(packed)
    return Path("corpus")


@pytest.mark.parametrize("make", [_tatoeba, _csv, _jsonl, _json, _tmx, _xlsx, _zip, _folder])
def test_every_form_is_trained_on_checked_and_evaluated(texts: Path, run: Run, make: Callable[[], Path]) -> None:
    file = make()
    options = ["--source", "en", "--target", "de", "--model", "seq2seq", "--preset", "small"]
    assert run("init", file, *options).lines[0].startswith("read as: ")
    small = changes({"model.width": 16, "model.embedding": 16}, steps=2, validate_every=2, checkpoint_every=2)
    done = run("train", "run.toml", *small)
    assert done.lines[1] == "next: regard evaluate runs/en-de held-out/en-de.test.en held-out/en-de.test.de"
    assert "48 training lines" in done.err
    *_, perplexity = run(*done.lines[1].split()[2:], "--samples", "0").lines
    assert perplexity.startswith("perplexity ")
    checked = run("doctor", "run.toml", "--seconds", "1", *small).lines
    assert checked[1].startswith("  read as: ")
    assert "48 of 60 lines; skipped: 12 held out" in checked[2]
    if file.is_file() and file.suffix != ".zip":
        assert run("evaluate", "runs/en-de", file, "--samples", "0").code == 0


def test_fifty_lines_are_enough_to_start(texts: Path, run: Run) -> None:
    toy.write_pairs(texts, "few", SENTENCES[:50])
    lines = run("init", "few.en", "few.de").lines
    assert any(line.startswith("held out, by line: 5 lines for validation (dev) and 5 for a test") for line in lines)
    toy.write_pairs(texts, "fewer", SENTENCES[:12])
    few = run("init", "fewer.en", "fewer.de", "--out", "fewer.toml").lines
    assert (
        "12 lines are too few to hold any out: training will not be validated; --dev names lines to validate on" in few
    )


@pytest.mark.parametrize(
    ("name", "content", "code", "sentence"),
    [
        ("a.csv", b'en,de\n"one,eins\n', 1, "a.csv, line 2: a quotation mark opens a cell here and none closes it"),
        ("a.csv", b"en,de\none,eins,uno\n", 1, "a.csv, line 2: has 3 columns, but line 1 has 2"),
        ("a.csv", b"one\ntwo\n", 1, "a.csv: is not CSV: its lines are not parted by commas, semicolons or tabs"),
        ("a.csv", b"en,de\none,\xe4ins\n", 1, "a.csv, line 2: byte 0xe4 at column 5 is not UTF-8"),
        ("a.tsv", b"en\ten\none\teins\n", 2, "a.tsv: columns 1 and 2 are both in the language en"),
        ("a.xlsx", b"PK\x03\x04 no archive", 1, "a.xlsx: the zip archive is damaged"),
        ("a.xlsx", b"one\ttwo\n", 1, "a.xlsx: the spreadsheet is damaged, or is none"),
        ("a.tmx", b"<tmx><body><tu>", 1, "a.tmx, line 1: not valid XML: no element found"),
        ("a.txt", b"", 1, "a.txt: the file is empty"),
        ("a.gz", b"\x1f\x8b\x08\x00broken", 1, "a.gz: the gzip file is damaged or cut off"),
    ],
)
def test_broken_forms_are_one_sentence(
    texts: Path, run: Run, name: str, content: bytes, code: int, sentence: str
) -> None:
    Path(name).write_bytes(content)
    done = run("init", name)
    assert sentence in done.sentence
    assert done.code == code
    assert not Path("run.toml").exists()
    assert not Path("held-out").exists()


def test_a_name_with_nul_is_one_sentence(home: Path, run: Run) -> None:
    done = run("train", "run.toml", "--set", 'data.train=["a\\u0000b", "train.de"]', "--set", "name=new")
    assert done.sentence == "'a\\x00b': a file name cannot hold the character NUL"
    done = run("train", "run.toml", "--set", 'name="a\\u0000b"')
    assert done.sentence == "name: must be the name of a folder, but is 'a\\x00b'"


def test_a_folder_without_text_is_told(home: Path, run: Run) -> None:
    Path("hollow").mkdir()
    done = run("init", "hollow", "--out", "other.toml")
    assert (done.code, done.sentence.partition(",")[0]) == (2, "hollow: holds no files that are known")
    Path("hollow", "train").mkdir()
    Path("hollow", "train", "text.en").write_text("a\n", encoding="utf-8")
    done = run("init", "hollow", "--out", "other.toml")
    assert done.sentence.endswith("its folders (train) are not looked into: name two files")
    with zipfile.ZipFile("pictures.zip", "w") as archive:
        archive.writestr("a.xml", "x")
    done = run("init", "pictures.zip", "--out", "other.toml")
    assert (done.code, done.sentence.partition(",")[0]) == (2, "pictures.zip: holds no files that are known")
    assert not Path("other.toml").exists()


def test_a_language_may_be_said_in_full(texts: Path, run: Run) -> None:
    assert run("init", "train.en", "train.de", "--source", "English", "--target", "German", "--out", "a.toml").code == 0
    data = tomllib.loads(Path("a.toml").read_text(encoding="utf-8"))["data"]
    assert (data["source"], data["target"]) == ("en", "de")


def test_languages_are_named_by_the_text_where_nothing_else_does(texts: Path, run: Run) -> None:
    english = ["Where is the station?", "I am ill today.", "We eat bread every morning.", "She has bought a new car."]
    german = [
        "Wo ist der Bahnhof?",
        "Ich bin heute krank.",
        "Wir essen jeden Morgen Brot.",
        "Sie hat ein Auto gekauft.",
    ]
    pairs = [f"{one} {at}\t{other} {at}\n" for at in range(7) for one, other in zip(english, german, strict=True)]
    Path("pairs.txt").write_text("".join(pairs), encoding="utf-8")
    lines = run("init", "pairs.txt").lines
    assert "by its words the text is en → de; --source and --target say otherwise" in lines
    written = tomllib.loads(Path("run.toml").read_text(encoding="utf-8"))
    assert (written["name"], written["data"]["source"], written["data"]["target"]) == ("en-de", "en", "de")
    run("init", "pairs.txt", "--source", "nl", "--target", "fy", "--force")
    assert tomllib.loads(Path("run.toml").read_text(encoding="utf-8"))["name"] == "nl-fy"
