"""The public names of `regard`: each says what it is for, with an example that runs; catalogs are mappings."""

import atexit
import dataclasses
import doctest
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard.base.catalog import Catalog
from regard.models.gpt import Gpt
from regard.models.transformer import Transformer
from tests.apps import toy
from tests.apps.commands.test_predict import written
from tests.data.examples import subwords
from tests.interop.examples import SMALL, write

CATALOGS = [name for name in regard.__all__ if isinstance(getattr(regard, name), Catalog)]
MEMBERS = [(catalog, member) for catalog in CATALOGS for member in getattr(regard, catalog)]
RUN = """
data = { train = ["train.en", "train.de"], dev = ["dev.en", "dev.de"] }
subwords = { kind = "word" }
model = { name = "seq2seq", width = 16 }
training = { steps = 2, validate_every = 1, lanes = 1 }
"""


@cache
def furnished() -> Path:
    """A folder with text and small untrained models, made once."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    toy.write_corpus(folder)
    for run, design in {"en-de": Transformer(**SMALL), "de-en": Transformer(**SMALL)}.items():
        (folder / "runs" / run).mkdir(parents=True)
        write(folder / "runs" / run / "model.safetensors", design)
    (folder / "runs" / "novels").mkdir()
    write(folder / "runs" / "novels" / "model.safetensors", Gpt(layers=1, width=16, heads=2))
    written(folder, "embed").rename(folder / "minilm.safetensors")
    (folder / "run.toml").write_text(RUN, encoding="utf-8")
    (folder / "test.links").write_text("0-0 1-1\n0-0 1?1\n", encoding="utf-8")
    return folder


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with text and small untrained models, and the names that examples speak of."""
    shutil.copytree(furnished(), tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    model = Transformer(**SMALL).build({"source": 9, "target": 9}).eval()
    query, key, value = torch.randn(3, 2, 4, 10, 8).unbind()
    return {
        **{name: getattr(regard, name) for name in regard.__all__},
        "regard": regard,
        "losses": [],
        "torch": torch,
        "translator": regard.load("runs/en-de"),
        "model": model,
        "generator": regard.load("runs/novels"),
        "query": query,
        "key": key,
        "value": value,
        "source": torch.ones(2, 5, dtype=torch.long),
        "target": torch.ones(2, 6, dtype=torch.long),
        "lengths": torch.tensor([5, 3]),
        "x": torch.randn(2, 6, 512),
        "subwords": subwords(),
        "sources": ["A dog", "A man"],
        "targets": ["A dog", "A man"],
    }


def examples(text: str | None) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.cleandoc(text or ""))


def run(text: str | None, names: dict[str, Any]) -> int:
    """Run the examples of a docstring; what they promise to print has to come."""
    for example in examples(text):
        if not example.want:
            exec(compile(example.source, "example", "exec"), names)
        else:
            assert repr(eval(example.source, names)) == example.want.strip(), example.source
    return len(examples(text))


@pytest.mark.parametrize("name", sorted(set(regard.__all__)))
def test_every_public_name_has_a_docstring_whose_example_runs(name: str, workplace: dict[str, Any]) -> None:
    assert run(getattr(regard, name).__doc__, workplace)


@pytest.mark.parametrize(
    "module", ["regard", "regard.learning", "regard.loading", "regard.saving", "regard.base.catalog"]
)
def test_the_examples_of_the_front_door_run(module: str, workplace: dict[str, Any]) -> None:
    assert run(importlib.import_module(module).__doc__, workplace)


def test_the_lists_of_public_names_agree() -> None:
    homes = regard._HOMES
    assert list(homes) == regard.__all__ == sorted(homes)
    typed = re.search(r"if TYPE_CHECKING:\n(.*?)\n\n", Path(regard.__file__).read_text(encoding="utf-8"), re.DOTALL)
    assert typed
    names = {word.split(" as ")[-1] for line in typed[1].splitlines() for word in line.split(" import ")[1].split(", ")}
    assert names == set(homes)
    assert set(regard.__all__) <= set(dir(regard))
    with pytest.raises(AttributeError, match="regard has no 'maskes'; it has: "):
        _ = regard.maskes  # type: ignore[attr-defined]


def test_importing_the_package_loads_neither_torch_nor_a_part() -> None:
    code = "import sys, regard; print([name for name in ('torch', 'regard.attention') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("first", ["regard.models.gpt", "regard.tasks.task", "regard"])
def test_models_and_tasks_are_catalogs_whatever_was_imported_first(first: str) -> None:
    code = f"""
import {first} as first
import regard
import regard.models.gpt as gpt
import regard.tasks.task
from regard import models, tasks
assert "gpt" in models and models.Gpt is gpt.Gpt and regard.models is models
assert "translate" in tasks and regard.tasks is tasks and regard.tasks.task.TASKS is tasks
assert models.Transformer.preset("tiny").layers if hasattr(models.Transformer, "layers") else models.Transformer.presets
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", CATALOGS)
def test_a_catalog_reads_like_a_mapping(name: str) -> None:
    catalog = getattr(regard, name)
    assert list(catalog) == sorted(catalog)
    assert len(catalog) == len(list(catalog)) > 1
    assert all(member in catalog for member in catalog)
    assert "no such thing" not in catalog
    assert f"<{catalog.kind}: {', '.join(catalog)}>" == repr(catalog)
    assert [line.split()[0] for line in catalog.describe().splitlines()] == list(catalog)


@pytest.mark.parametrize(("catalog", "name"), MEMBERS)
def test_a_member_says_what_it_is_and_reads_well(catalog: str, name: str) -> None:
    member = getattr(regard, catalog)[name]
    written = inspect.getdoc(member) or ""
    assert member.__doc__ is not None, f"{catalog}.{member.__name__} has no docstring of its own"
    assert not written.startswith(f"{member.__name__}("), "a dataclass without a docstring gets its signature for one"
    assert written[0] not in " \n"
    needed = [
        field
        for field in dataclasses.fields(member)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]
    if not needed:
        assert repr(member()).startswith(f"{member.__name__}(")
