"""`regard draw`: pictures of masks, positions, normalizers, attention weights and neighborhoods of graphs."""

import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.options import examples
from regard.base.errors import RegardError, UsageError
from regard.base.extras import install_hint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Draw masks, positions, normalizers or attention weights as PNG or SVG.",
)

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="The file to write; .png or .svg.", show_default=False),
]
Title = Annotated[str | None, typer.Option(help="The title.", show_default=False)]
Length = Annotated[int, typer.Option(min=1, max=4096, help="Number of positions.")]


@app.command(
    epilog=examples(
        "regard draw mask causal",
        'regard draw mask "causal & window(4)" --length 24 --out local.svg',
        'regard draw mask "window(2) | global_tokens(1)"',
    )
)
def mask(
    expression: Annotated[str, typer.Argument(help="A mask, or masks joined with & | ~.")],
    length: Length = 16,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw a mask: who may look where."""
    pictures = _load()
    from regard.attention.mask import MASKS

    figure = pictures.mask_picture(MASKS.make(expression, "mask"), length, title=title or expression)
    _write(figure, out, f"mask {expression}")


@app.command(
    epilog=examples(
        "regard draw positions sinusoidal --length 64 --width 32",
        "regard draw positions alibi --heads 8",
        'regard draw positions "learned(64)"',
    )
)
def positions(
    expression: Annotated[str, typer.Argument(help="Positions, with their settings in brackets.")],
    length: Length = 64,
    width: Annotated[int, typer.Option(min=1, max=4096, help="Width of the vectors.")] = 32,
    heads: Annotated[int, typer.Option(min=1, max=64, help="Number of heads; up to eight are drawn.")] = 4,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw position encodings, or the bias that positions add to the logits of each head."""
    pictures = _load()
    from regard.attention.position import POSITIONS
    from regard.inspection.pictures.views import sizes_of

    part = POSITIONS.make(expression, "positions")
    figure = pictures.position_picture(part, length, sizes_of(width, heads), title=title or expression)
    _write(figure, out, f"positions {expression}")


@app.command(
    epilog=examples(
        'regard draw normalizer softmax sparsemax entmax15 "top_k(4)"',
        "regard draw normalizer sigmoid --slope 6",
    )
)
def normalizer(
    expressions: Annotated[list[str], typer.Argument(help="Normalizers, with their settings in brackets.")],
    slope: Annotated[float, typer.Option(min=0.0, max=1000.0, help="Logits rise from -SLOPE to SLOPE.")] = 3.0,
    keys: Annotated[int, typer.Option(min=2, max=4096, help="Number of keys.")] = 25,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw the weights that normalizers give to evenly rising logits."""
    pictures = _load()
    from regard.attention.normalizer import NORMALIZERS

    parts = {expression: NORMALIZERS.make(expression, "normalizer") for expression in expressions}
    figure = pictures.normalizer_picture(parts, slope=slope, keys=keys, title=title or "Weights of rising logits")
    _write(figure, out, f"normalizer {' '.join(expressions)}")


@app.command(
    epilog=examples(
        "regard draw weights attention.json",
        'regard draw weights attention.safetensors --rows "le chat dort" --columns "the cat sleeps"',
        "regard draw weights layers.safetensors --name decoder.0.cross --index 0,3",
    )
)
def weights(
    file: Annotated[Path, typer.Argument(help="A matrix: .json or .safetensors.")],
    rows: Annotated[str | None, typer.Option(help="The query tokens, separated by spaces.", show_default=False)] = None,
    columns: Annotated[
        str | None, typer.Option(help="The key tokens, separated by spaces.", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option(help="Which tensor of a .safetensors.", show_default=False)] = None,
    index: Annotated[
        str | None, typer.Option(help="Which matrix of several, such as 0,3.", metavar="N,N", show_default=False)
    ] = None,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw attention weights from a file, with their tokens.

    A JSON file holds {"rows": ["le", "chat"], "columns": ["the", "cat"], "weights": [[0.9, 0.1], [0.2, 0.8]]}.
    """
    pictures = _load()
    from regard.inspection.pictures.matrices import read_matrix

    matrix = read_matrix(file, name=name, index=_indices(index))
    matrix = matrix.named(rows=rows.split() if rows else None, columns=columns.split() if columns else None)
    figure = pictures.heat_map(matrix.weights, matrix.rows, matrix.columns, title=file.stem if title is None else title)
    _write(figure, out, f"weights {file.stem}")


@app.command(
    epilog=examples(
        "regard draw neighborhood runs/cora cora.npz 17",
        "regard draw neighborhood runs/cora cora.npz 17 --layer layers.0 --out 17.svg",
    )
)
def neighborhood(
    model: Annotated[Path, typer.Argument(help="A graph network with attention: a model file or run folder.")],
    graph: Annotated[Path, typer.Argument(help="The graph: a folder with edges.tsv, or an .npz file.")],
    node: Annotated[str, typer.Argument(help="The name or number of a node.")],
    layer: Annotated[
        str | None, typer.Option(help="The attention layer; by default the last.", show_default=False)
    ] = None,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw what a node of a graph attends to, head by head."""
    pictures = _load()
    from regard.decoding.node_classifier import NodeClassifier
    from regard.inspection.pictures.neighborhood import neighborhood_picture
    from regard.loading import load

    classifier = load(model)
    if not isinstance(classifier, NodeClassifier):
        raise UsageError(f"{model}: is no graph network")
    figure = neighborhood_picture(classifier.neighborhood(graph, node, layer), title=title or "")
    typer.echo(f"wrote {pictures.save_figure(figure, out or Path(f'neighborhood-{node}.png'))}")


@app.command(
    epilog=examples(
        "regard draw attention runs/digits seven.png",
        "regard draw attention runs/digits test.npz --number 3 --at 4,6 --out three.svg",
    )
)
def attention(
    model: Annotated[Path, typer.Argument(help="A model of pictures with attention: a model file or run folder.")],
    picture: Annotated[str, typer.Argument(help="A picture, or a file of arrays.")],
    at: Annotated[
        str | None,
        typer.Option(metavar="ROW,COLUMN", help="The pixel whose attention is drawn; by default the class token's."),
    ] = None,
    number: Annotated[int | None, typer.Option(min=0, help="Of a file of arrays: the picture, from 0.")] = None,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw what a patch of a picture attends to, in every layer and head, and the rollout over layers."""
    pictures = _load()
    from regard.apps.picture_pages import place_of, seen_picture
    from regard.decoding.image_classifier import ImageClassifier
    from regard.inspection.pictures.overlay import overlay_picture
    from regard.loading import load

    classifier = load(model)
    if not isinstance(classifier, ImageClassifier):
        raise UsageError(f"{model}: reads no pictures")
    figure = overlay_picture(seen_picture(classifier, picture, number, model), place_of(at), title or "")
    typer.echo(f"wrote {pictures.save_figure(figure, out or Path(f'attention-{Path(picture).stem}.png'))}")


@app.command(
    epilog=examples(
        "regard draw gradients test.txt runs/lstm runs/lstm-attention",
        "regard draw gradients test.txt runs/elman runs/gpt --length 64 --out reach.svg",
    )
)
def gradients(
    text: Annotated[Path, typer.Argument(help="A text file.")],
    models: Annotated[list[Path], typer.Argument(help="Language models: model files or run folders.")],
    length: Annotated[int, typer.Option(min=2, max=4096, help="Tokens before the word that is predicted.")] = 40,
    count: Annotated[int, typer.Option(min=1, help="How many places of the text to average over.")] = 64,
    title: Title = None,
    out: Out = None,
) -> None:
    """Draw how far back gradients reach in language models: the vanishing gradient, with and without attention."""
    _load()
    import torch

    from regard.base.files import read_text
    from regard.decoding.generator import Generator
    from regard.inspection.explanation.gradient_reach import gradient_reach
    from regard.inspection.pictures.reach_picture import reach_picture
    from regard.loading import load

    reaches: dict[str, list[float]] = {}
    for path in models:
        generator = load(path)
        if not isinstance(generator, Generator):
            raise UsageError(f"{path}: is no language model, so it predicts no next word")
        tokens = [token for line in generator.subwords.encode_batch(read_text(text).splitlines()) for token in line]
        texts = [tokens[at : at + length + 1] for at in range(0, len(tokens) - length, length + 1)][:count]
        if not texts:
            raise UsageError(f"{text}: has {len(tokens)} tokens, but --length {length} needs more; give a longer text")
        reaches[str(path)] = gradient_reach(generator.models[0], torch.tensor(texts)).tolist()
    _write(reach_picture(reaches, title or ""), out, f"gradients {text.stem}")


@app.command(
    epilog=examples(
        "regard draw gallery",
        "regard draw gallery --out pictures",
    )
)
def gallery(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")] = Path(),
) -> None:
    """Draw all masks, positions and normalizers on one sheet."""
    pictures = _load()
    from regard.inspection.pictures.gallery import gallery_picture, sections

    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: is a file; give the name of a folder")
    out.mkdir(parents=True, exist_ok=True)
    shown = sections()
    path = pictures.save_figure(gallery_picture(shown), out / "gallery.png")
    typer.echo(f"wrote {path}")
    for section in shown:
        typer.echo(f"  {section.name}: {', '.join(tile.name for tile in section.tiles)}")


def _load() -> ModuleType:
    try:
        from regard.inspection.pictures import draw as pictures
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "matplotlib":
            raise RegardError(f"draw needs matplotlib: {install_hint('plots')}") from error
        raise
    return pictures


def _write(figure: "Figure", out: Path | None, about: str) -> None:
    if out is None:
        out = Path(re.sub(r"[^\w]+", "-", about).strip("-")[:80] + ".png")
    typer.echo(f"wrote {_load().save_figure(figure, out)}")


def _indices(text: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise UsageError(f"--index: must be whole numbers with commas between, as in 0,3, but is '{text}'") from error
