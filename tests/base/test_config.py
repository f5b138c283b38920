"""A wrong setting fails with its path and what would be right; a right one survives every way of writing it down."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.base import config
from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, check_at_least


@dataclass(frozen=True, kw_only=True)
class Model:
    layers: int
    width: int = 256
    dropout: float = 0.1
    norm: Literal["before", "after"] = "before"
    mask: Any = "causal"
    bound: int | None = 5

    def __post_init__(self) -> None:
        check_at_least("model", 1, layers=self.layers)


@dataclass(frozen=True, kw_only=True)
class Training:
    rate: float = 0.001
    steps: tuple[int, ...] = (1, 2)
    warm: tuple[int, float] = (1, 0.5)
    folder: Path = Path("runs")
    heads: dict[str, Model] = field(default_factory=dict)
    limit: int | float = 1
    spec: str | Mapping[str, Any] = "x"
    note: str | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    model: Model
    training: Training = field(default_factory=Training)
    shape: Annotated[Any, Catalog("tests.base.shapes")] = None
    again: Model | None = None


def read(text: str, tmp_path: Path, *overrides: str) -> Run:
    path = tmp_path / "run.toml"
    path.write_text(text)
    return config.from_dict(config.read_table(path, overrides), Run)


def test_settings_are_typed(tmp_path: Path) -> None:
    run = read('[model]\nlayers = 2\ndropout = 1\n[training]\nsteps = [3]\nfolder = "there"\n', tmp_path)
    assert run.model == Model(layers=2, dropout=1.0)
    assert isinstance(run.model.dropout, float)
    assert run.training == Training(steps=(3,), folder=Path("there"))


FAULTS = {
    "[model]\nlayers=1\nwdith=2": r"^model: unknown 'wdith' \(did you mean 'width'\?\); settings here are: bound",
    "[modle]\nlayers=1": r"^settings: unknown 'modle' \(did you mean 'model'\?\)",
    "[model]\nwidth=1": r"^model\.layers: missing; it must be a whole number",
    "": r"^model: missing; it must be a table of settings",
    "[model]\nlayers='two'": r"^model\.layers: must be a whole number, but is 'two'",
    "[model]\nlayers=true": r"^model\.layers: must be a whole number, but is True",
    "[model]\nlayers=1.5": r"^model\.layers: must be a whole number, but is 1\.5",
    "[model]\nlayers=1\ndropout='no'": r"^model\.dropout: must be a number, but is 'no'",
    "[model]\nlayers=1\nnorm='befor'": r"^model\.norm: unknown 'befor' \(did you mean 'before'\?\); choices are: after",
    "[model]\nlayers=0": r"^model: layers must be at least 1, but is 0",
    "[model]\nlayers=1\n[training.heads.a]\nlayers=0": r"^training\.heads\.a: model: layers must be at least 1",
    "model=3": r"^model: must be a table of settings, but is 3",
    "[model]\nlayers=1\n[training]\nsteps=[1,'x']": r"^training\.steps\[1\]: must be a whole number, but is 'x'",
    "[model]\nlayers=1\n[training]\nsteps=1": r"^training\.steps: must be a list, but is 1",
    "[model]\nlayers=1\n[training]\nwarm=[1]": r"^training\.warm: must be a list of 2 values, but is \[1\]",
    "[model]\nlayers=1\n[training.heads.a]\nlayer=1": r"^training\.heads\.a: unknown 'layer'",
    "[model]\nlayers=1\n[training]\nlimit='x'": r"^training\.limit: must be a whole number or a number, but is 'x'",
    "[model]\nlayers=1\n[again]\nlayers='x'": r"^again\.layers: must be a whole number, but is 'x'",
    "[model]\nlayers=1\n[shape]\nsize=2": r"^shape\.name: missing; shapes are: circle, square",
    "[model]\nlayers=1\n[shape]\nname='squar'": r"^shape\.name: unknown 'squar' \(did you mean 'square'\?\)",
    "[model]\nlayers=1\n[shape]\nname='square'\nsiez=2": r"^shape: unknown 'siez' \(did you mean 'size'\?\)",
    "[model]\nlayers=1\n[shape]\nname='square'\nsize='x'": r"^shape\.size: must be a whole number, but is 'x'",
    "[model\nlayers=1": r"run\.toml: not valid TOML: .*line 1",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_says_where_and_what(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=FAULTS[text]):
        read(text, tmp_path)


def test_parts_may_be_left_for_their_catalog(tmp_path: Path) -> None:
    assert read('model = { layers = 1, mask = "causal & window(128)" }', tmp_path).model.mask == "causal & window(128)"
    table = read('model = { layers = 1, mask = { name = "window", size = 128 } }', tmp_path).model.mask
    assert table == {"name": "window", "size": 128}
    assert read("model.layers = 1\ntraining.spec = { a = [1] }", tmp_path).training.spec == {"a": [1]}


def test_a_choice_becomes_the_members_dataclass(tmp_path: Path) -> None:
    from tests.base.shapes.square import Square

    for text in ("shape = { name = 'square', size = 3 }", "shape = 'square(3)'"):
        run = read(f"model.layers = 1\n{text}", tmp_path)
        assert run.shape == Square(size=3)
        assert config.to_dict(run)["shape"] == {"name": "square", "size": 3}
        assert config.from_dict(config.to_dict(run), Run) == run


@dataclass(frozen=True, kw_only=True)
class Drawn:
    shape: Annotated[Any, Catalog("tests.base.shapes")]
    frame: Annotated[Any, Catalog("tests.base.shapes")] = "square"
    shade: Annotated[Any, Catalog("tests.base.shapes", optional=True)] = "square"


@pytest.mark.parametrize("nothing", [None, "none"])
def test_nothing_is_chosen_only_where_it_may_be(nothing: str | None) -> None:
    for name in ("shape", "frame"):
        with pytest.raises(ConfigError, match=rf"^drawn\.{name}: must be one of .*square.*, but is none$"):
            config.from_dict({"shape": "square", name: nothing}, Drawn, "drawn")
    assert config.from_dict({"shape": "square", "shade": nothing}, Drawn).shade is None


def test_overrides(tmp_path: Path) -> None:
    text = "[model]\nlayers = 1\n"
    changed = [
        "model.width=256",
        "training.rate = 1e-4",
        "training.steps=[7, 8]",
        "training.note=a b",
        "model.bound=none",
    ]
    run = read(text, tmp_path, *changed, 'model.mask="full"', "training.folder=x/y")
    assert run.model == Model(layers=1, width=256, bound=None, mask="full")
    assert run.training == Training(rate=1e-4, steps=(7, 8), note="a b", folder=Path("x/y"))
    assert read(text, tmp_path, "training.note=1\nb = 2").training.note == "1\nb = 2"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.width", r"--set model\.width: write it as a\.b=value"),
        ("=3", "write it as"),
        ("model..width=3", "write it as"),
        ("model.layers.x=3", r"model\.layers is a value, not a table"),
        ("model.widht=3", r"^model: unknown 'widht' \(did you mean 'width'\?\)"),
        ("model.width=big", r"^model\.width: must be a whole number, but is 'big'"),
    ],
)
def test_a_faulty_override_is_named(override: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        read("[model]\nlayers = 1\n", tmp_path, override)


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
models = st.builds(
    Model,
    layers=st.integers(1, 9),
    dropout=st.floats(allow_nan=False),
    norm=st.sampled_from(["before", "after"]),
    mask=st.one_of(texts, st.dictionaries(texts, st.integers(0, 5), max_size=2)),
    bound=st.none() | st.integers(0, 9),
)
runs = st.builds(
    Run,
    model=models,
    again=st.none() | models,
    training=st.builds(
        Training,
        steps=st.lists(st.integers(-9, 9)).map(tuple),
        warm=st.tuples(st.integers(0, 3), st.floats(0, 1)),
        folder=st.sampled_from([Path("a"), Path("b/c")]),
        heads=st.dictionaries(texts, models, max_size=2),
        limit=st.integers(0, 5) | st.floats(0, 1),
        note=st.none() | texts.filter(lambda text: text != "none"),
    ),
)


@given(run=runs)
def test_every_tree_survives_toml_and_json(run: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("toml") / "run.toml"
    path.write_text(config.to_toml(run), encoding="utf-8", newline="")
    assert config.from_dict(config.read_table(path), Run) == run
    assert config.from_dict(json.loads(json.dumps(config.to_dict(run))), Run) == run


def test_infinity_survives(tmp_path: Path) -> None:
    run = Run(model=Model(layers=1, dropout=math.inf))
    assert read(config.to_toml(run), tmp_path) == run


@dataclass(frozen=True)
class Renamed:
    """Once its settings were called otherwise."""

    width: int = 1

    @classmethod
    def migrate(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"width" if name == "size" else name: value for name, value in table.items()}


def test_older_words_are_understood() -> None:
    assert config.from_dict({"size": 3}, Renamed) == Renamed(3)
    with pytest.raises(ConfigError, match="unknown 'seize'"):
        config.from_dict({"seize": 3}, Renamed)
