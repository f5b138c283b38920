"""regard inspect: explain one translation, or how a picture is seen, as an offline page and pictures."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.display import say_next
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    StrategyOption,
    ThreadsOption,
    chosen_strategy,
    examples,
    use_threads,
)
from regard.base.errors import RegardError, UsageError, unknown
from regard.base.extras import install_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from regard.inspection.explanation.explain import Explanation
    from regard.inspection.explanation.read_text import ReadText
    from regard.inspection.explanation.seeing import Seen

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        'regard inspect runs/en-de "a man in an orange hat ."',
        'regard inspect en-de.safetensors "a dog ." --target "ein hund ." --out dog.html',
        'regard inspect runs/en-de "a dog ." --attention all              self-attention too',
        'regard inspect runs/en-de "a dog ." --out dog --png --svg       a folder, with pictures',
        "regard inspect runs/digits seven.png --at 3,5 --png             what a patch of a picture attends to",
    )
)
def inspect(
    model: Annotated[Path, typer.Argument(help="A model file or run folder.")],
    text: Annotated[str, typer.Argument(help="The text to translate or, for a language model, to read; or a picture.")],
    target: Annotated[
        str | None, typer.Option(help="A given translation to explain instead of the model's own.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="A prefix that the translation starts with.")] = "",
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="PLACE", help="A file that ends in .html, or a folder.")
    ] = Path("inspect.html"),
    attention: Annotated[
        str, typer.Option(help="What to record: cross, or all for the self-attention of encoder and decoder as well.")
    ] = "cross",
    png: Annotated[bool, typer.Option("--png", help="Also draw a heat map of each layer as PNG.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="Also draw a heat map of each layer as SVG.")] = False,
    at: Annotated[
        str | None, typer.Option(metavar="ROW,COLUMN", help="Of a picture: the pixel whose attention --png draws.")
    ] = None,
    number: Annotated[int | None, typer.Option(min=0, help="Of a file of arrays: the picture, from 0.")] = None,
    effects: Annotated[
        bool,
        typer.Option("--effects/--no-effects", help="Measure each head by the answer without it, a run each."),
    ] = True,
    beam: BeamOption = None,
    strategy: StrategyOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Write a page that explains a translation: word links, attention weights, alternatives, the beam's path.

    The page is one file that opens offline, in any browser. For a language model it shows what each token of the text
    looked at, how likely it was, and what may come next. For a picture it shows what any patch attends to in every
    layer and head, and the rollout over layers. Beside the weights stands what they move, weight times value, and
    below each head what the log-probability of the answer loses without it.
    """
    use_threads(threads)
    for name, given in (("the text", text), ("--target", target or ""), ("--prefix", prefix)):
        if any("\ud800" <= character <= "\udfff" for character in given):
            raise UsageError(f"inspect: {name} is not UTF-8")
    if not text.strip():
        raise UsageError("inspect: there is no text to translate")
    pictures = _load_pictures() if png or svg else None
    page = _place(out)
    from regard.apps.commands.next import write_continuation
    from regard.apps.picture_pages import seen_picture, write_seen
    from regard.decoding.generator import Generator
    from regard.decoding.image_classifier import ImageClassifier
    from regard.decoding.predictor import TextReader
    from regard.decoding.translator import Translator
    from regard.inspection.explanation.continuing import explain_continuation
    from regard.inspection.explanation.explain import Detail, explain
    from regard.inspection.explanation.forced import ATTENTION_KINDS
    from regard.inspection.explanation.read_text import look_at_reading
    from regard.loading import load

    if attention not in ("cross", "all"):
        raise UsageError(unknown("--attention", attention, ("cross", "all"), "choices"))
    detail = Detail(attention=ATTENTION_KINDS if attention == "all" else ATTENTION_KINDS[:1], effects=effects)
    translator = load(model, device=device)
    if isinstance(translator, Generator):
        if target is not None or prefix or pictures is not None:
            raise UsageError(f"{model}: a language model; --target, --prefix, --png and --svg need a translator")
        read = replace(explain_continuation(translator, text, effects=effects), model=model.stem)
        write_continuation(read, page)
        _say_effects(layer.effects for layer in read.part.decoder)
        return
    if isinstance(translator, ImageClassifier):
        seen = seen_picture(translator, text, number, model, effects=effects)
        figure = None if pictures is None else _overlay(seen, at)
        write_seen(seen, page)
        if pictures is not None:
            for ending in [ending for ending, on in (("png", png), ("svg", svg)) if on]:
                typer.echo(f"wrote {pictures.save_figure(figure, page.with_suffix(f'.{ending}'))}")
        return
    if isinstance(translator, TextReader):
        if target is not None or prefix or pictures is not None:
            raise UsageError(f"{model}: an encoder; --target, --prefix, --png and --svg need a translator")
        _write_read(replace(look_at_reading(translator, text, effects=effects), model=model.stem), page)
        return
    if not isinstance(translator, Translator):
        raise UsageError(f"{model}: neither translates nor continues texts, so there is nothing to inspect")
    search = chosen_strategy(strategy, beam, translator.strategy)
    explanation = explain(translator, text, prefix=prefix, target=target, strategy=search, detail=detail)
    _write_page(replace(explanation, model=model.stem), page)
    if pictures is not None:
        _write_pictures(pictures, explanation, page, [ending for ending, on in (("png", png), ("svg", svg)) if on])


def _overlay(seen: "Seen", at: str | None) -> "Figure":
    from regard.apps.picture_pages import place_of
    from regard.inspection.pictures.overlay import overlay_picture

    return overlay_picture(seen, place_of(at))


def _place(out: Path) -> Path:
    """The file of the page; its folder is made if missing."""
    page = out if out.suffix.lower() in (".html", ".htm") and not out.is_dir() else out / "inspect.html"
    if page.parent.exists() and not page.parent.is_dir():
        raise UsageError(f"{page.parent}: is a file; give the name of a folder, or of a file that ends in .html")
    page.parent.mkdir(parents=True, exist_ok=True)
    return page


def _write_page(explanation: "Explanation", page: Path) -> None:
    from regard.base.files import write_text

    write_text(page, explanation.to_html(f"{explanation.source} → {explanation.target}"))
    typer.echo(explanation.target)
    if len(explanation.parts) == 1:
        _say_effects(layer.effects for layer in explanation.parts[0].layers)
    typer.echo(f"wrote {page}")
    say_next(f"open {page} in a browser; regard serve gives the same page for any text")


def _write_read(read: "ReadText", page: Path) -> None:
    from regard.base.files import write_text

    write_text(page, read.to_html(f"{read.text}: {read.answer}"))
    typer.echo(read.answer)
    _say_effects(layer.effects for layer in read.layers)
    typer.echo(f"wrote {page}")


def _say_effects(layers: "Iterable[Sequence[float]]") -> None:
    """Name the head that the answer depends on most, if that was measured; layers and heads count from 1."""
    heads = [(float(one), at, head) for at, own in enumerate(layers, 1) for head, one in enumerate(own, 1)]
    if heads:
        effect, layer, head = max(heads)
        way = "lower" if effect >= 0 else "higher"
        without = f"without it, the log-probability is {abs(effect):.3f} {way}"
        typer.echo(f"the answer depends most on head {head} of layer {layer}: {without}")


def _write_pictures(pictures: ModuleType, explanation: "Explanation", page: Path, endings: list[str]) -> None:
    """A heat map for each layer, its heads together; texts in parts have one for each part."""
    if not any(part.layers for part in explanation.parts):
        raise UsageError("inspect: the model has no attention over its source, so there is no heat map to draw")
    for number, part in enumerate(explanation.parts, start=1):
        rows = [written.token.text for written in part.target]
        columns = [token.text for token in part.source]
        for at, layer in enumerate(part.layers, start=1):
            heads = len(layer.weights)
            title = f"layer {at}" + (f", mean of {heads} heads" if heads > 1 else "")
            figure = pictures.heat_map(layer.weights.mean(0).numpy(), rows, columns, title=title)
            which = f"part-{number}-layer-{at}" if len(explanation.parts) > 1 else f"layer-{at}"
            for ending in endings:
                typer.echo(f"wrote {pictures.save_figure(figure, page.with_name(f'{page.stem}-{which}.{ending}'))}")


def _load_pictures() -> ModuleType:
    try:
        from regard.inspection.pictures import draw as pictures
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "matplotlib":
            raise RegardError(f"inspect --png and --svg need matplotlib: {install_hint('plots')}") from error
        raise
    return pictures
