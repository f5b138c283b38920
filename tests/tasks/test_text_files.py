"""From files as people have them to the table [data] of a run."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from regard.base.config import from_dict
from regard.base.errors import RegardError, UsageError
from regard.data.format import Hints
from regard.data.formats.tsv import Tsv
from regard.tasks.task import Wishes
from regard.tasks.text_files import TextFiles, find_texts
from regard.tasks.texts import DataSettings
from tests.apps import toy


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    toy.write(tmp_path / "pairs.txt", [f"{one}\t{other}\tCC-BY 2.0" for one, other in toy.pairs(100)])
    toy.write_corpus(tmp_path)
    return tmp_path


def found(*files: str, sides: int = 2, **wishes: object) -> TextFiles:
    made = find_texts([Path(file) for file in files], Wishes(**wishes), sides)  # type: ignore[arg-type]
    assert made is not None
    return made


def settings(made: TextFiles) -> DataSettings:
    return from_dict(tomllib.loads(f"[data]\n{made.table()}")["data"], DataSettings)


def test_what_is_recognized_is_said_and_written() -> None:
    made = found("pairs.txt", hints=Hints(source="en", target="de"))
    assert made.notes[0] == "read as: tab-separated, columns 1 and 2, no header, 1 other column not read"
    assert made.notes[1].startswith("held out, by line: 10 lines for validation (dev) and 10 for a test; no training")
    data = settings(made)
    assert data.format == Tsv(columns=(1, 2))
    assert (data.source, data.target, data.leaks) == ("en", "de", "either")
    assert data.test == (Path("held-out/en-de.test.en"), Path("held-out/en-de.test.de"))
    assert made.name == "en-de"
    assert [len(text.splitlines()) for text in made.files.values()] == [10] * 4
    assert set(made.files) == {
        Path(f"held-out/en-de.{part}.{code}") for part in ("dev", "test") for code in ("en", "de")
    }


def test_training_leaves_out_what_is_held_out(here: Path) -> None:
    made = found("pairs.txt")
    (here / "held-out").mkdir()
    for path, text in made.files.items():
        path.write_text(text, encoding="utf-8")
    corpus = settings(made).training(here, sides=2)
    assert sum(1 for _ in corpus.rows()) == 80
    kept = replace(settings(made), leaks="keep").training(here, sides=2)
    assert sum(1 for _ in kept.rows()) == 100


def test_given_sets_are_taken_as_they_are() -> None:
    made = found("train.en", "train.de", dev=(Path("dev.en"), Path("dev.de")))
    assert made.files == {}
    assert made.held_out is None
    assert settings(made).dev == (Path("dev.en"), Path("dev.de"))
    assert settings(made).format is None
    assert found("train.en", "train.de", hold_out=0).files == {}
    assert len(found("train.en", "train.de", hold_out=30).held_out.dev) == 30  # type: ignore[union-attr]


def test_a_folder_gives_its_sets(here: Path) -> None:
    made = found(".", hints=Hints(source="en")) if not (here / "pairs.txt").unlink() else None
    assert made is not None
    assert [[file.name for file in files] for files in (made.sets.train, made.sets.dev, made.sets.test)] == [
        ["train.en", "train.de"],
        ["dev.en", "dev.de"],
        ["test.en", "test.de"],
    ]


def test_text_with_another_number_of_sides_is_for_another_task() -> None:
    assert find_texts([Path("pairs.txt")], Wishes(), 1) is None
    assert find_texts([Path("train.en")], Wishes(), 2) is None
    one = found("train.en", sides=1)
    assert settings(one).dev == (Path("held-out/train.dev.txt"),)
    assert one.notes[1].endswith("no training line is one of them")


def test_odd_names_are_written_so_that_they_are_read(here: Path) -> None:
    name = 'a "b" \\ \x7f \t c.txt'
    (here / "pairs.txt").rename(here / name)
    assert settings(found(name)).train == (Path(name),)


@pytest.mark.parametrize(
    ("files", "wishes", "fault"),
    [
        (["train.en", "train.en"], {}, "train.en: is given twice; source, target, dev and test are different files"),
        (["train.en", "./train.en"], {}, "train.en: is given twice"),
        (["train.en", "train.de"], {"dev": (Path("train.en"), Path("train.de"))}, "train.en: is given twice"),
        (
            ["labels.tsv"],
            {},
            "labels.tsv: one of its columns repeats few texts, such as “good”, as labels do",
        ),
        (["same.tsv"], {}, "same.tsv: 40 of the first 40 pairs have the same text on both sides"),
        (
            ["train.en", "train.de"],
            {"hints": Hints(source="en", target="en")},
            "source and target are both in the lang",
        ),
        (
            ["train.en", "train.de"],
            {"dev": (Path("dev.en"),)},
            r"--dev: must have as many sides as the training text \(2",
        ),
        (
            ["train.en", "train.de"],
            {"test": (Path("pairs.txt"),), "dev": (Path("dev.en"), Path("blank"))},
            "the line is blank",
        ),
    ],
)
def test_what_is_wrong_is_told(files: list[str], wishes: dict[str, object], fault: str, here: Path) -> None:
    toy.write(here / "same.tsv", [f"{one}\t{one.upper()}" for one, _ in toy.pairs(40)])
    toy.write(here / "labels.tsv", [f"{('good', 'bad')[len(one) % 2]}\t{one}" for one, _ in toy.pairs(90)])
    toy.write(here / "blank", ["x"] * 11 + [""])
    with pytest.raises((UsageError, RegardError), match=fault):
        found(*files, **wishes)
