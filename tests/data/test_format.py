"""What holds for every format: it is a value, spelled in a config, and read back."""

from pathlib import Path

import pytest

from regard.base.config import from_dict, to_dict, to_toml
from regard.base.errors import ConfigError, UsageError
from regard.data.format import TEXT_FORMATS, Doubt
from regard.data.formats.csv import Csv
from regard.data.formats.tmx import Tmx
from regard.data.formats.tsv import Tsv
from regard.tasks.texts import DataSettings


def test_the_formats_are_a_folder() -> None:
    assert TEXT_FORMATS.names == ("csv", "json", "jsonl", "marked", "text", "tmx", "tsv", "xlsx")


@pytest.mark.parametrize(
    "made", [Csv(columns=("a", "b"), header=True, delimiter=";"), Tsv(columns=(3,)), Tmx(("a", "b"))]
)
def test_a_format_is_written_in_a_config_and_read_back(made: object) -> None:
    settings = DataSettings(train=(Path("a"),), format=made)
    assert from_dict(to_dict(settings), DataSettings) == settings
    assert 'name = "' in to_toml(settings)


def test_a_format_is_written_on_a_command_line() -> None:
    assert TEXT_FORMATS.make('csv(columns=["en", "de"], header=True)') == Csv(columns=("en", "de"), header=True)
    with pytest.raises(ConfigError, match=r"unknown 'colums' \(did you mean 'columns'\?\)"):
        TEXT_FORMATS.make("tsv(colums=[1])")


def test_a_doubt_says_how_to_end_it() -> None:
    doubt = Doubt("a.csv: two ways", "--columns", "1,2")
    assert isinstance(doubt, UsageError)
    assert str(doubt) == "a.csv: two ways; say it with --columns 1,2"
    assert str(Doubt("a: which?", "--source", "en")) == "a: which? Say it with --source en"
