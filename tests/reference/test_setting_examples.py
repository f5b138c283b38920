"""Examples follow from types and defaults."""

import dataclasses
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from torch import Tensor

from regard.attention.mask import MASKS
from regard.decoding.strategies.greedy import Greedy
from regard.reference.setting_examples import EXAMPLES, as_toml, catalogs_in, example_of
from tests.reference.test_settings_reference import ALL


@dataclass
class Sizes:
    least: int


NEEDED = dataclasses.fields(Sizes)


@pytest.mark.parametrize(
    ("hint", "default", "example"),
    [
        (int, 4, "a.b = 8"),
        (int, 0, "a.b = 64"),
        (float, 0.5, "a.b = 0.25"),
        (float | None, None, "a.b = 0.1"),
        (bool, False, "a.b = true"),
        (Literal["one", "two"], "one", 'a.b = "two"'),
        (tuple[int, ...], (1, 2), "a.b = [1, 2]"),
        (str | None, None, 'a.b = "text"'),
        (Annotated[Any, MASKS], None, 'a.b = "window(128)"'),
    ],
)
def test_examples_by_type(hint: Any, default: Any, example: str) -> None:
    assert example_of("a.b", hint, default, (), False) == example


def test_a_part_is_written_with_what_it_needs() -> None:
    assert example_of("some.size", int, 4, NEEDED, True) == "some(least=64, size=8)"
    assert example_of("some.size", Tensor, None, (), True) == "in Python: some(size)"


@pytest.mark.parametrize("value", [1, 20_000, 0.5, 1e-9, True, 'a "b"', [1, "x"], {"name": "x", "size": 3}, Path("a")])
def test_values_are_spelled_as_toml(value: Any) -> None:
    found = tomllib.loads(f"value = {as_toml(value)}")["value"]
    assert found == (str(value) if isinstance(value, Path) else value)


def test_a_choice_without_settings_is_its_name() -> None:
    assert as_toml({"name": "softmax"}) == '"softmax"'
    assert as_toml(None) == '"none"'
    assert as_toml(Greedy(max_length=3)).startswith("{ min_length = 0, max_length = 3")


def test_the_table_has_no_leftovers() -> None:
    paths = {one.path for _, one in ALL}
    places = {f"{section.path}.{one.path.rpartition('.')[2]}" for section, one in ALL}
    kinds = {catalog.kind for _, one in ALL for catalog in catalogs_in(one)} | {"masks", "positions", "scores", "feeds"}
    assert EXAMPLES.keys() <= paths | places | kinds
