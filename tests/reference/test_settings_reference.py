"""The reference of all settings: complete, and each example is one that is accepted."""

import tomllib
from dataclasses import fields
from typing import Any

import pytest

from regard.base.catalog import Catalog
from regard.base.errors import UsageError
from regard.models.model import MODELS
from regard.reference.settings_reference import Setting, SettingsTable, find, settings_tables, text_of
from regard.tasks.run import run_of
from regard.tasks.task import TASKS
from tests.test_public import CATALOGS, regard

PARTS: dict[str, Catalog] = {getattr(regard, name).kind: getattr(regard, name) for name in CATALOGS}
ALL = [(section, one) for section in settings_tables() for one in section.settings]


def named(value: object) -> str | None:
    return value.path if isinstance(value, SettingsTable | Setting) else None


@pytest.mark.parametrize(("section", "one"), ALL, ids=named)
def test_every_setting_has_a_meaning(section: SettingsTable, one: Setting) -> None:
    assert one.meaning, f"{section.path}: write a text below the field '{one.name}' that says what it means"
    assert one.kind
    assert not one.meaning.endswith(".") or ". " in one.meaning


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    both = dict(first)
    for key, value in second.items():
        inner = both.get(key)
        both[key] = merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return both


def around(section: SettingsTable, one: Setting) -> dict[str, Any]:
    """A run file in which the section's settings may stand."""
    head, _, member = section.path.partition(".")
    model = member.partition(".")[0] if head == "model" and member else ""
    sizes = MODELS.get(model).needs if model else ()  # type: ignore[attr-defined]
    fitting = [name for name in TASKS.names if set(sizes) <= set(TASKS.get(name).sizes)]  # type: ignore[attr-defined]
    task = next(iter(section.tasks), fitting[-1])
    needs = set(TASKS.get(task).sizes)  # type: ignore[attr-defined]
    model = model or next(name for name in reversed(MODELS.names) if set(MODELS.get(name).needs) <= needs)  # type: ignore[attr-defined]
    table: dict[str, Any] = {"task": task, "model": {"name": model}}
    if any(field.name == "data" for field in fields(TASKS.get(task))):  # type: ignore[arg-type]
        table["data"] = {"train": ["a", "b"][: 2 if task == "translate" else 1]}
    if task == "multitask":
        table["heads"] = {name: {"data": {"train": ["a"]}, "task": "tag"} for name in ("chunks", "speech")}
    place, _, chosen = section.path.rpartition(".")
    if any(section.path in other.members for other in settings_tables()) and head != "model":
        for word in reversed(place.split(".")):
            chosen = {word: chosen if isinstance(chosen, dict) else {"name": chosen}}  # type: ignore[assignment]
        table = merged(table, chosen)  # type: ignore[arg-type]
    if one.path.startswith("training.tuning"):
        member = section.path.removeprefix("training.tuning.")
        chosen = {"tuning": {"name": member}} if member != section.path else {}
        table["training"] = {"base": "model.safetensors"} | chosen
    if section.path == "training.guide" and one.name != "links":
        table["training"] = {"guide": {"links": "eflomal"}}
    return table


@pytest.mark.parametrize(("section", "one"), ALL, ids=named)
def test_every_example_is_accepted(section: SettingsTable, one: Setting) -> None:
    if one.example.startswith("in Python: "):
        return
    catalog = PARTS.get(section.path.partition(".")[0])
    if catalog is not None and " = " not in one.example:
        assert type(catalog.make(one.example)) is catalog.get(section.path.partition(".")[2])
        return
    example = tomllib.loads(one.example)
    if section.path == "data.mix":  # a list of tables
        example = {"data": {"mix": [{"files": ["c", "d"]} | example["data"]["mix"]]}}
    if section.path == "heads":  # a table for each head
        example = {"heads": {"chunks": example["heads"]}}
    if section.path == "run":
        example = merged({"data": {"train": ["a", "b"]}, "model": {"name": "transformer"}}, example)
        example = merged({"task": "language"}, example) if example["model"]["name"] == "gpt" else example
        assert run_of(example, "run")
        return
    assert run_of(merged(around(section, one), example), "run")


def _of(task: str, path: str) -> tuple[Setting, ...]:
    """The settings of a table as this task reads it."""
    return next(section.settings for section in find(path) if not section.tasks or task in section.tasks)


def test_every_default_is_what_a_run_has(tmp_path: object) -> None:
    run = run_of(
        {"task": "translate", "data": {"train": ["a", "b"]}, "model": {"name": "transformer"}}, "run"
    ).to_dict()
    for one in (one for path in ("batches", "model.transformer", "training.loss") for one in _of("translate", path)):
        value: Any = run
        for word in one.path.split("."):
            value = value[word]
        written = tomllib.loads(f"value = {one.default}")["value"]
        value = value["name"] if isinstance(value, dict) else value
        assert (None if written == "none" and value is None else written) == value, one.path


def test_a_section_brings_what_is_below_it() -> None:
    assert [section.path for section in find("training.optimizer")][:2] == [
        "training.optimizer",
        "training.optimizer.adam",
    ]
    (gpt,) = find("model.gpt")
    assert gpt.presets == ("tiny", "small", "llama")
    assert {"language", "masked"} <= set(find("streams")[0].tasks)
    assert ("classify",) in {section.tasks for section in find("data")}


def test_a_single_setting_is_found_by_its_path_in_a_run_file_or_in_the_reference() -> None:
    (patience,) = find("training.patience")
    assert [one.path for one in patience.settings] == ["training.patience"]
    assert {section.path for section in find("model.width")} >= {"model.transformer", "model.gpt"}
    one, other = find("model.seq2seq.attention.score")
    assert one.settings[0].see == other.path == "scores"
    with pytest.raises(
        UsageError, match=r"settings: unknown 'model.transformr' \(did you mean 'model.transformer'\?\)"
    ):
        find("model.transformr")


def test_each_member_of_each_catalog_has_a_section() -> None:
    paths = {section.path for section in settings_tables()}
    for kind in ("masks", "memories", "positions", "scores", "normalizers", "feeds", "mixers"):
        assert {f"{kind}.{name}" for name in PARTS[kind]} <= paths
    assert {f"model.{name}" for name in PARTS["models"]} <= paths
    assert {section.path for section in settings_tables() if section.tasks} >= {"batches", "streams"}
    assert len(TASKS.names) > 1


def test_it_is_plain_json() -> None:
    (found,) = text_of(find("training.clip"))
    assert found["settings"][0]["default"] == "1.0"
