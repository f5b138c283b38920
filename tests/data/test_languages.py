"""Names and codes of languages, in headers and file names."""

from pathlib import Path

import pytest

from regard.data.languages import code_of, language_code, language_in, language_of, language_pair


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("de", "de"),
        ("EN", "en"),
        ("pt-BR", "pt-BR"),
        ("zh_Hans", "zh_Hans"),
        ("eng", "eng"),
        ("German", "de"),
        (" deutsch ", "de"),
        ("русский", "ru"),
        ("Tiếng Việt", "vi"),
        ("xx", None),
        ("en-x", None),
        ("Hello", None),
    ],
)
def test_a_language_is_named_by_code_or_name(name: str, code: str | None) -> None:
    assert language_code(name) == code


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("text_en", "en"),
        ("en_text", "en"),
        ("English sentence", "en"),
        ("translation.de", "de"),
        ("is it", None),
        ("English to German", None),
        ("Go.", None),
    ],
)
def test_a_header_may_hold_a_language(header: str, code: str | None) -> None:
    assert language_in(header) == code


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("Tatoeba.en-fr.tsv", ("en", "fr")),
        ("en_de.csv", ("en", "de")),
        ("pairs.csv", None),
        ("train.zh-Hans", None),
        ("en-en.csv", None),
    ],
)
def test_one_file_may_name_both_languages(name: str, codes: tuple[str, str] | None) -> None:
    assert language_pair(Path(name)) == codes


def test_a_language_may_be_said_in_full() -> None:
    assert [code_of(name) for name in ("German", "pt-BR", "EN", "gsw")] == ["de", "pt-BR", "EN", "gsw"]


def test_a_pair_of_languages_is_not_one() -> None:
    assert language_of(Path("corpus.en-fr")) is None
    assert language_of(Path("corpus.en-fr.fr.zst")) == "fr"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("train.de", "de"),
        ("data.en/train.lc.norm.tok.de.gz", "de"),
        ("corpus.de.txt", "de"),
        ("train.pt_BR", "pt_BR"),
        ("train.zh-Hans.gz", "zh-Hans"),
        ("train.ces", "ces"),
        ("train.txt", None),
        ("pairs.tsv", None),
        ("train", None),
        ("de", None),
        ("train.2024", None),
        ("train.english", None),
        ("train.src", None),
        ("train.de.bpe", "de"),
        ("de.txt", "de"),
        ("train_de.txt.gz", "de"),
        ("German.txt", "de"),
    ],
)
def test_the_last_plausible_ending_is_the_language(name: str, code: str | None) -> None:
    assert language_of(Path(name)) == code
