"""regard settings: what can be set in a run file, with defaults, meanings and examples."""

import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.options import examples

if TYPE_CHECKING:
    from regard.reference.settings_reference import Setting, SettingsTable

app = typer.Typer(add_completion=False)
_WIDTH = 100
HEAD = """# Settings

Every setting of a run file. `regard settings model.transformer` prints a section of this page, `regard settings
training.patience` one setting, `--json` all of it for programs. The page itself is made by `make settings`.

A setting is written in run.toml, as `[training]` and below it `patience = 5`, or on a command line, as
`regard train run.toml --set training.patience=5`. A choice is a name, a name with settings in brackets, or a table:
`mask = "window(128)"`, `optimizer = { name = "muon", learning_rate = 0.002 }`. `"none"` unsets what has no value.
"""


@app.command(
    "settings",
    epilog=examples(
        "regard settings                          the sections",
        "regard settings model.transformer        all settings of a Transformer",
        "regard settings training.optimizer       the optimizers and their settings",
        "regard settings training.patience        one setting",
    ),
)
def show_settings(
    path: Annotated[
        str, typer.Argument(help="A section or a setting, such as model.transformer or training.clip.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page of Markdown.")] = False,
) -> None:
    """Print the settings of a run file: their types, defaults, meanings and examples."""
    from regard.reference.settings_reference import find, settings_tables, text_of

    found = find(path) if path else list(settings_tables())
    if as_json:
        typer.echo(json.dumps(text_of(found), ensure_ascii=False, indent=2))
    elif markdown:
        typer.echo(page(found), nl=False)
    elif path:
        typer.echo("\n\n".join("\n".join(_lines(section)) for section in found))
    else:
        typer.echo("\n".join(_overview(found)))


def page(found: Iterable["SettingsTable"]) -> str:
    """The sections as a page of Markdown."""
    return HEAD + "".join("\n" + "\n".join(_paragraphs(section)) + "\n" for section in found)


def _overview(found: Iterable["SettingsTable"]) -> Iterator[str]:
    """One line for each section that is not a member of another."""
    shown = [section for section in found if "." not in section.path or section.path.startswith("training.")]
    shown = [section for section in shown if section.path.count(".") < 2]
    width = max(len(section.path) for section in shown)
    for section in shown:
        yield f"{section.path:<{width}}  {_first(section)}"
        if section.members:
            yield f"{'':<{width}}  {', '.join(path.rpartition('.')[2] for path in section.members)}"
    yield "\nregard settings SECTION prints its settings, such as regard settings model.transformer"


def _lines(section: "SettingsTable") -> Iterator[str]:
    """A section for a terminal."""
    yield f"{section.path}: {_first(section)}{_of_tasks(section)}"
    if section.presets:
        yield f"presets: {', '.join(section.presets)}"
    for path, about in section.members.items():
        yield from textwrap.wrap(f"{path}  {about}", _WIDTH, initial_indent="  ", subsequent_indent="      ")
    for one in section.settings:
        yield ""
        yield f"  {one.path} = {one.default}" if one.default is not None else f"  {one.path}   must be given"
        yield from textwrap.wrap(
            f"{one.meaning} ({_kind(one)})", _WIDTH, initial_indent="      ", subsequent_indent="      "
        )
        yield f"      for example: {one.example}"


def _paragraphs(section: "SettingsTable") -> Iterator[str]:
    """A section for a page: its heading, what it is, and a table."""
    yield f"{'##' if '.' not in section.path else '###'} {section.path}"
    yield ""
    yield f"{_first(section)}{_of_tasks(section)}" + (
        f" Presets: {', '.join(section.presets)}." if section.presets else ""
    )
    if section.members:
        yield ""
        yield from (f"- [{path}](#{_anchor(path)}): {_cell(about)}" for path, about in section.members.items())
    if section.settings:
        yield "\n| setting | default | meaning | example |\n|---|---|---|---|"
        for one in section.settings:
            default = "must be given" if one.default is None else f"`{one.default}`"
            yield f"| `{one.path}` | {default} | {_cell(one.meaning)} ({_cell(_linked(one))}) | `{one.example}` |"


def _first(section: "SettingsTable") -> str:
    """The first sentence of what a section is."""
    about = " ".join(section.about.partition("\n\n")[0].split())
    found = re.split(r"(?<=[^.\d]\.)\s+(?=[A-Z`])", about, maxsplit=1)[0]
    sentence = found[:1].upper() + found[1:]
    return sentence if sentence.endswith(".") else f"{sentence}."


def _of_tasks(section: "SettingsTable") -> str:
    return f" Of the task {' or '.join(section.tasks)}." if section.tasks else ""


def _kind(one: "Setting") -> str:
    return f"{one.kind}; see {one.see}" if one.see else one.kind


def _linked(one: "Setting") -> str:
    return f"{one.kind}; see [{one.see}](#{_anchor(one.see)})" if one.see else one.kind


def _anchor(path: str) -> str:
    """The anchor that a heading of this text gets: without dots, as on the forge."""
    return path.replace(".", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")
