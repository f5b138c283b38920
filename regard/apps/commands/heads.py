"""regard heads: choose the attention heads that align words, and store the choice in the model file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.commands.align import ReverseOption, load_translator, read_pairs
from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads
from regard.base.extras import install_hint
from regard.base.wording import counted

if TYPE_CHECKING:
    from regard.alignment.heads import Ranking

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard heads runs/en-de train.en train.de",
        "regard heads runs/en-de dev.en dev.de --reverse runs/de-en --out heads.png",
        "regard heads runs/en-de dev.en dev.de --gold dev.links",
    )
)
def heads(
    model: Annotated[Path, typer.Argument(help="A model file or run folder; the choice is written into it.")],
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file of pairs.")],
    reverse: ReverseOption = None,
    gold: Annotated[Path | None, typer.Option(help="Gold links, which then decide.")] = None,
    pairs: Annotated[int, typer.Option(min=1, help="The most pairs to rank the heads on.")] = 1000,
    shown: Annotated[int, typer.Option(min=1, help="How many of the best heads to print.")] = 10,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Draw all scores; .png or .svg.")] = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Rank the attention heads of a model by how well they align words, and store the best.

    The score is the agreement with gold links if given, else with a model that translates the other way, else with
    words that occur together.
    """
    use_threads(threads)
    from regard.alignment.direction import check_direction
    from regard.alignment.head_choice import keep_choice
    from regard.alignment.heads import rank_heads
    from regard.base.errors import UsageError
    from regard.data.links import read_gold
    from regard.data.subwords.tokenizer import words
    from regard.runs.folder import model_file

    if gold is not None and reverse is not None:
        raise UsageError("heads: give --gold or --reverse, not both; gold links decide better")
    if out is not None:
        _check_picture(out)
    sources, targets = read_pairs(files, "heads")
    sizes = [(len(words(one)), len(words(two))) for one, two in zip(sources, targets, strict=True)]
    right = None if gold is None else read_gold(gold, sizes)
    ahead, back = load_translator(model, device), None if reverse is None else load_translator(reverse, device)
    check_direction(ahead, sources, targets, str(model))
    if back is not None:
        check_direction(back, targets, sources, str(reverse))
    ranking = rank_heads(ahead, sources, targets, gold=right, reverse=back, most=pairs)
    _print(ranking, shown)
    file = model_file(model)
    keep_choice(file, ranking.best)
    typer.echo(f"kept in {file}")
    if out is not None:
        _draw(ranking, out, str(model))


def _print(ranking: "Ranking", shown: int) -> None:
    typer.echo(f"{ranking.best.measure}, on {counted(ranking.pairs, 'pair')}; 1 is best")
    for choice in ranking.choices[:shown]:
        typer.echo(f"{choice.score:.4f}  {choice}")


def _check_picture(out: Path) -> None:
    from regard.base.errors import RegardError

    try:
        from regard.inspection.pictures.draw import check_name
    except ImportError as error:
        raise RegardError(f"heads: --out needs matplotlib: {install_hint('plots')}") from error
    check_name(out)


def _draw(ranking: "Ranking", out: Path, title: str) -> None:
    from regard.inspection.pictures.draw import save_figure
    from regard.inspection.pictures.head_picture import ranking_picture

    typer.echo(f"wrote {save_figure(ranking_picture(ranking, title), out)}")
