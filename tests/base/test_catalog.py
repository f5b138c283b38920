from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.attention.mask import MASKS
from regard.base.catalog import Catalog, first_sentence
from regard.base.errors import ConfigError

ROUND = """
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.base.errors import ConfigError


@dataclass(frozen=True)
class Round:
    size: int
    scale: float = 1.0
    limit: int | None = None
    kind: Literal["thin", "thick"] = "thin"
    steps: tuple[int, ...] = ()
    corner: tuple[int, int] = (0, 0)
    dashed: bool = False
    note: str = ""
    extra: Any = None
    notes: list = field(default_factory=list)
    area: int = field(init=False, default=0)

    def __post_init__(self):
        if self.size < 0:
            raise ConfigError(f"round: size must be at least 0, but is {self.size}")

    def __and__(self, other):
        return ("and", self, other)

    def __or__(self, other):
        return ("or", self, other)

    def __invert__(self):
        return ("not", self)
"""


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A folder with two members, a private file and one that holds no member."""
    root = tmp_path_factory.mktemp("catalog")
    folder = root / "figures"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "round.py").write_text(ROUND)
    (folder / "two_sided.py").write_text(
        "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass TwoSided:\n    pass\n"
    )
    (folder / "empty.py").write_text("SIZE = 1\n")
    (folder / "_hidden.py").write_text("raise RuntimeError('was imported')\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root)
        yield Catalog("figures")


def test_the_folder_is_the_registry(figures: Catalog) -> None:
    assert figures.names == ("empty", "round", "two_sided")
    assert figures.kind == "figures"


def test_a_new_file_is_a_new_member(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "more_figures"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "far_off.py").write_text("class FarOff:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert Catalog("more_figures").get("far_off").__name__ == "FarOff"


def test_members_are_attributes(figures: Catalog) -> None:
    assert figures.Round is figures.get("round")
    assert figures.TwoSided is figures.get("two_sided")
    with pytest.raises(AttributeError, match=r"figures: unknown 'Rund' \(did you mean 'round'\?\)"):
        _ = figures.Rund
    with pytest.raises(AttributeError):
        _ = figures.square
    with pytest.raises(AttributeError):
        _ = figures.__missing__


def test_a_file_without_its_class_is_told(figures: Catalog) -> None:
    with pytest.raises(ConfigError, match=r"figures/empty\.py holds no class whose name is 'empty' in CamelCase"):
        figures.get("empty")


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("round(3)", {"size": 3}),
        (" round( size = 3 ) ", {"size": 3}),
        ("round(3, 2)", {"size": 3, "scale": 2.0}),
        ("round(3, scale=2)", {"size": 3, "scale": 2.0}),
        ("round(3, limit=None)", {"size": 3, "limit": None}),
        ("round(3, limit=4)", {"size": 3, "limit": 4}),
        ("round(3, kind='thick')", {"size": 3, "kind": "thick"}),
        ("round(3, steps=[1, 2, 3])", {"size": 3, "steps": (1, 2, 3)}),
        ("round(3, corner=(1, 2))", {"size": 3, "corner": (1, 2)}),
        ("round(3, dashed=True, note='a & b')", {"size": 3, "dashed": True, "note": "a & b"}),
        ("round(3, extra={'a': [1]})", {"size": 3, "extra": {"a": [1]}}),
        ({"name": "round", "size": 3, "steps": [1]}, {"size": 3, "steps": (1,)}),
    ],
)
def test_specs_are_read(figures: Catalog, spec: Any, settings: dict[str, Any]) -> None:
    made = figures.make(spec)
    assert made == figures.Round(**settings)
    assert type(made.scale) is float


def test_a_table_without_a_name_is_the_default(figures: Catalog) -> None:
    usual = Catalog(figures.package, default="round")
    assert usual.make({"size": 3}) == figures.Round(3)
    assert usual.make({"name": "two_sided"}) == figures.TwoSided()
    with pytest.raises(ConfigError, match="the table has no 'name'"):
        figures.make({"size": 3})


def test_parts_pass_as_they_are(figures: Catalog) -> None:
    part = figures.Round(1)
    assert figures.make(part) is part
    assert figures.make(None) is None
    assert figures.make("two_sided") == figures.TwoSided()


def test_composed_members(figures: Catalog) -> None:
    one, two = figures.Round(1), figures.Round(2)
    assert figures.make("round(1) & round(2)") == ("and", one, two)
    assert figures.make("round(1) | round(2)") == ("or", one, two)
    assert figures.make("~round(1)") == ("not", one)
    with pytest.raises(ConfigError, match="here: figures are not composed with &; only masks are"):
        figures.make("two_sided & two_sided", "here")
    with pytest.raises(ConfigError, match="figures are not composed with ~"):
        figures.make("~two_sided")


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("rond(3)", "run.figure: unknown 'rond' (did you mean 'round'?); figures are: empty, round, two_sided"),
        ("round", "run.figure: round needs its setting 'size', as in round(size=…)"),
        ("round(3, sise=2)", "run.figure.round: unknown 'sise' (did you mean 'size'?); its settings are: "),
        ("round(3, area=2)", "run.figure.round: unknown 'area'; its settings are: "),
        ("round('3')", "run.figure.round.size: must be a whole number, but is '3'"),
        ("round(True)", "run.figure.round.size: must be a whole number, but is True"),
        ("round(3.5)", "run.figure.round.size: must be a whole number, but is 3.5"),
        ("round(3, dashed=1)", "run.figure.round.dashed: must be true or false, but is 1"),
        ("round(3, limit='x')", "run.figure.round.limit: must be a whole number, but is 'x'"),
        ("round(3, kind='wide')", "run.figure.round.kind: unknown 'wide'; choices are: thick, thin"),
        ("round(3, steps=[1, 'x'])", "run.figure.round.steps[1]: must be a whole number, but is 'x'"),
        ("round(3, corner=[1])", "run.figure.round.corner: must be a list of 2 values, but is [1]"),
        ("round(-1)", "run.figure: round: size must be at least 0, but is -1"),
        ("round(1, size=2)", "run.figure: round is given 'size' twice"),
        ("two_sided(1)", "run.figure: two_sided takes 0 settings (), not 1"),
        ("round(size)", "run.figure: 'size' in 'round(size)' is not a number, a text or a list"),
        ("round(3", "run.figure: cannot read 'round(3'; write for example empty(…)"),
        ("", "run.figure: cannot read ''; write for example empty(…)"),
        ("round(1) + round(2)", "run.figure: cannot read 'round(1) + round(2)'; only names, settings in brackets and"),
        ("round.size", "run.figure: cannot read 'round.size'; only names"),
        ("__import__('os')", "run.figure: unknown '__import__'"),
        ("round(**{'size': 3})", "run.figure.round: unknown '**'"),
        ({"size": 3}, "run.figure: the table has no 'name'; figures are: empty, round, two_sided"),
        ({"name": "rond"}, "run.figure: unknown 'rond' (did you mean 'round'?)"),
    ],
)
def test_mistakes_are_told_with_their_place(figures: Catalog, spec: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        figures.make(spec, "run.figure")
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize("spec", [{"name": "two_sided", "scale": 2.0}, "two_sided(scale=2.0)"])
def test_the_setting_of_another_is_told_whose_it_is(figures: Catalog, spec: Any) -> None:
    with pytest.raises(ConfigError, match=r"unknown 'scale'; .*; 'scale' is a setting of round$"):
        figures.choose(spec, "run.figure")


def test_without_a_place_the_folder_is_the_place(figures: Catalog) -> None:
    with pytest.raises(ConfigError, match=r"^figures: unknown 'rond'"):
        figures.make("rond")
    with pytest.raises(ConfigError, match=r"^round: size must be at least 0, but is -1$"):
        figures.make("round(-1)")


def test_nothing_that_is_written_is_ever_run(figures: Catalog) -> None:
    for text in (
        "round(__import__('os').getpid())",
        "round((lambda: 3)())",
        "round([x for x in 'ab'])",
        "round(1 + 2)",
    ):
        with pytest.raises(ConfigError, match="is not a number, a text or a list"):
            figures.make(text)


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_sentence(figures: Catalog, text: str) -> None:
    with pytest.raises(ConfigError):
        figures.make("?" + text)
    try:
        figures.make(text)
    except ConfigError as error:
        assert str(error)


def test_dir_lists_the_members() -> None:
    assert {"Causal", "Window", "GlobalTokens"} <= set(dir(MASKS))


def test_a_catalog_reads_like_a_mapping_from_names_to_classes(figures: Catalog) -> None:
    assert list(figures) == ["empty", "round", "two_sided"]
    assert len(figures) == 3
    assert "round" in figures
    assert "Round" not in figures
    assert 3 not in figures
    assert figures["round"] is figures.Round
    with pytest.raises(KeyError, match="did you mean 'round'"):
        _ = figures["rond"]
    assert repr(figures) == "<figures: empty, round, two_sided>"
    assert Catalog("regard.attention.masks", besides=MASKS.names)  # true, though empty: it is a value, not a container


def test_describing_takes_the_first_sentence_of_each_member() -> None:
    told = dict(line.split(maxsplit=1) for line in MASKS.describe().splitlines())
    assert told["causal"] == "A position may attend to itself and to what came before."


def test_the_first_sentence_ends_where_the_next_begins() -> None:
    class Short:
        """Of 1.5 and e.g. more; it
        goes on. `Then` ends."""

    assert first_sentence(Short) == "Of 1.5 and e.g. more; it goes on."
    assert first_sentence(type("Silent", (), {})) == ""
