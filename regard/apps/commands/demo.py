"""regard demo: small trainings with no download, each measured and drawn; without a name, that of written dates."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import ThreadsOption, examples, use_threads
from regard.base.extras import install_hint

app = typer.Typer(add_completion=False)

_LINKED = 200
TRIED = (
    "Tuesday, March 12, 2024",
    "14 juillet 1989",
    "6. Dezember 2031",
    "2024年3月12日",
    "1 января 2000",
    "23 de abril de 1976",
)


@app.command(
    epilog=examples(
        "regard demo",
        "regard demo list                     what else there is: hull, sets, graph …",
        "regard demo hull                     point at the corners of a convex hull",
        "regard demo '3. Oktober 1990' '11 novembre 2018'",
        "echo '5 mai 2025' | regard translate regard-demo/runs/dates      afterwards, as often as you like",
    )
)
def demo(
    what: Annotated[
        list[str],
        typer.Argument(help="The name of a demonstration, or `list`; or dates to translate, in words of your own."),
    ] = [],  # noqa: B006
    folder: Annotated[Path, typer.Option(help="The folder for all files.")] = Path("regard-demo"),
    threads: ThreadsOption = None,
) -> None:
    """Train something small with no download, measure it on what it has never seen, and draw what it looks at.

    Without a name, that is a translator of written dates; `regard demo list` names the others.
    """
    use_threads(threads)
    from regard.apps.demonstration import demonstrations, menu

    if what == ["list"]:
        typer.echo(menu())
    elif len(what) == 1 and what[0] in demonstrations():
        demonstrations()[what[0]].show(folder / what[0])
    else:
        if not what:
            typer.echo(f"Demonstrations, of which this is the first:\n{menu()}\n", err=True)
        _show_dates(what[1:] if what[:1] == ["dates"] else what, folder)


def _show_dates(dates: list[str], folder: Path) -> None:
    """Train a translator of written dates, in dozens of languages, to ISO 8601; test and explain it."""
    from regard.base.files import write_text
    from regard.data.dates import DATE_LANGUAGES, DateSettings, write_dates
    from regard.learning import run_training
    from regard.loading import load
    from regard.tasks.run import read_run

    folder.mkdir(parents=True, exist_ok=True)
    typer.echo(f"Writing dates in {len(DATE_LANGUAGES)} languages to {folder} …", err=True)
    if not (folder / "test.links").exists():
        write_dates(folder, DateSettings())
    write_text(folder / "run.toml", Path(__file__).with_name("demo.toml").read_text(encoding="utf-8"))
    settings = read_run(folder / "run.toml")
    run_training(settings, folder / "runs" / settings.name, folder)
    translator: Any = load(folder / "runs" / settings.name)
    _measure(translator, folder)
    tried = dates or list(TRIED)
    typer.echo("")
    for text, found in zip(tried, translator.translate(tried), strict=True):
        typer.echo(f"  {text}  →  {found.text}")
    _draw(translator, tried[0], folder / "alignment.png")
    typer.echo(f"\nTry your own:  echo '{tried[1 % len(tried)]}' | regard translate {folder / 'runs' / settings.name}")


def _measure(translator: Any, folder: Path) -> None:
    from regard.data.corpus import open_corpus
    from regard.metrics.quality import exact_match

    pairs = list(open_corpus(folder / "test.written", folder / "test.iso", blanks="error").pairs())
    outputs = [found.text for found in translator.translate([pair.source for pair in pairs])]
    share = exact_match(outputs, [pair.target for pair in pairs])
    typer.echo(f"{share:.2f} % of {len(pairs):,} dates, on days it has never seen, are right to the letter")
    _measure_links(translator, pairs, folder / "test.links")


def _measure_links(translator: Any, pairs: list[Any], gold: Path) -> None:
    """Print the alignment error rate of the digits; hyphens have no source and are not counted.

    The links of the training dates, made by the same rule, guided the training.
    """
    from regard.alignment.character_links import character_links
    from regard.data.links import read_gold
    from regard.metrics.alignment_error import error_rates

    found = [
        [link for link in character_links(translator, pair.source, pair.target) if pair.target[link.target] != "-"]
        for pair in pairs[:_LINKED]
    ]
    rate = error_rates(found, read_gold(gold)[:_LINKED]).error_rate
    typer.echo(f"{rate:.2%} is the alignment error rate of their digits; where to look was taught on other dates")


def _draw(translator: Any, text: str, path: Path) -> None:
    from regard.alignment.cross_weights import look

    try:
        from regard.inspection.pictures.draw import heat_map, save_figure
    except ImportError:
        typer.echo(f"regard: {path} needs matplotlib: {install_hint('plots')}", err=True)
        return
    found = translator.translate([text])[0].text
    looked = look(translator, text, found)
    note = "Each row is a character that was written, and what was read for it."
    save_figure(heat_map(looked.weights, looked.target, looked.source, title=f"{text} → {found}", note=note), path)
    typer.echo(f"\nWhat it looked at while writing {found}: {path}")
