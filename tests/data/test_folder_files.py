"""A folder or an archive says by its names what is for training, validation and test."""

import zipfile
from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.data.folder_files import FileSets, files_in, is_container, sides_in
from regard.data.format import Doubt


def fill(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).write_text("x\n", encoding="utf-8")
    return folder


def named(sets: FileSets | None) -> list[list[str]]:
    assert sets is not None
    return [[file.name for file in files] for files in (sets.train, sets.dev, sets.test)]


def test_parallel_files_are_found(tmp_path: Path) -> None:
    fill(tmp_path, "train.de.gz", "train.en.gz", "val.de", "val.en", "test2016.de", "test2016.en", "README.md", ".x")
    assert named(files_in(tmp_path, source="en")) == [
        ["train.en.gz", "train.de.gz"],
        ["val.en", "val.de"],
        ["test2016.en", "test2016.de"],
    ]
    with pytest.raises(Doubt, match=r"which is the source\? Say it with --source de --target en"):
        files_in(tmp_path)


@pytest.mark.parametrize("names", [("src-{}.txt", "tgt-{}.txt"), ("{}.src", "{}.trg"), ("{}_source", "{}_target")])
def test_source_and_target_may_be_named_so(names: tuple[str, str], tmp_path: Path) -> None:
    wanted = [[name.format(which) for name in names] for which in ("train", "val", "test")]
    assert named(files_in(fill(tmp_path, *(name for own in wanted for name in own)))) == wanted


def test_what_is_told_about_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    assert named(files_in(fill(tmp_path, "fra.txt", "_about.txt")))[0] == ["fra.txt"]


def test_one_table_a_set(tmp_path: Path) -> None:
    fill(tmp_path, "my-train.csv", "my-dev.csv", "LICENSE")
    assert named(files_in(tmp_path)) == [["my-train.csv"], ["my-dev.csv"], []]


def test_two_of_three_languages_are_chosen(tmp_path: Path) -> None:
    fill(tmp_path, "train.en", "train.de", "train.fr")
    assert named(files_in(tmp_path, "fr", "en"))[0] == ["train.fr", "train.en"]
    with pytest.raises(
        UsageError, match=r"does not tell which of its files are for train \(train\.de, train\.en, train"
    ):
        files_in(tmp_path)


def test_the_plainest_of_several_preparations_is_chosen(tmp_path: Path) -> None:
    fill(tmp_path, "train.en.gz", "train.de.gz", "train.lc.tok.en.gz", "train.lc.tok.de.gz")
    assert named(files_in(tmp_path, "en", "de"))[0] == ["train.en.gz", "train.de.gz"]
    (tmp_path / "train.de.gz").rename(tmp_path / "b-train.de.gz")
    with pytest.raises(UsageError, match="does not tell which of its files are for train"):
        files_in(tmp_path, "en", "de")


def test_parts_are_not_left_out(tmp_path: Path) -> None:
    """Of a.en, a.fr, ab.en and ab.fr, those of a were taken when the languages were said."""
    fill(tmp_path, "a.en", "a.fr", "ab.en", "ab.fr")
    for languages in ((None, None), ("en", "fr")):
        with pytest.raises(
            UsageError, match=r"or join the parts: cat \S*a\.en \S*b\.en > train\.en; cat \S*a\.fr"
        ) as one:
            files_in(tmp_path, *languages)
        assert str(one.value).endswith("b.fr > train.fr")


def test_an_archive_is_like_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "en-fr.txt.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("README", "LICENSE", "Books.en-fr.en", "Books.en-fr.fr", "Books.en-fr.xml"):
            archive.writestr(name, "x\n")
    assert is_container(path)
    assert named(files_in(path)) == [["Books.en-fr.en", "Books.en-fr.fr"], [], []]
    found = files_in(path)
    assert found is not None
    assert found.train[0] == path / "Books.en-fr.en"


def test_what_holds_no_text_is_for_others(tmp_path: Path) -> None:
    assert files_in(fill(tmp_path, "cat.png", "dog.jpeg")) is None
    assert is_container(tmp_path)
    assert not is_container(tmp_path / "cat.png")
    with pytest.raises(UsageError, match="has no training files"):
        files_in(fill(tmp_path, "dev.en", "dev.de"), source="en")


def test_files_that_differ_in_their_language_alone_belong_together(tmp_path: Path) -> None:
    for name in ("train.en", "train.de", "train.lc.en", "train.lc.de", "val.en", "program.cs", "a.tsv"):
        (tmp_path / name).touch()
    assert sides_in(tmp_path) == {"train": [tmp_path / "train.de", tmp_path / "train.en"]}
