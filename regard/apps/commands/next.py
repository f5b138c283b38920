"""regard next: the distribution over the next word of a language model, and what it looked at."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads
from regard.base.errors import UsageError

if TYPE_CHECKING:
    from regard.inspection.explanation.continuing import Continuation

app = typer.Typer(add_completion=False)
_BAR = 30


@app.command(
    "next",
    epilog=examples(
        'regard next runs/lm "the students opened their"',
        'regard next runs/lm "the students opened their" --count 5 --json',
        'regard next runs/lm "the students opened their" --page next.html',
    ),
)
def next_word(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of a language model.")],
    text: Annotated[str, typer.Argument(help="The text so far; empty for the beginning of a line.")],
    count: Annotated[int, typer.Option(min=1, help="How many words to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a page with all layers and heads, to open offline.")
    ] = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print the likeliest next words of a text, with their probabilities, and the words that the model looked at.

    A word may have several tokens; its probability is that of all of them and of a word ending there.
    """
    use_threads(threads)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise UsageError("next: the text is not UTF-8")
    from regard.decoding.generator import Generator
    from regard.inspection.explanation.continuing import explain_continuation
    from regard.loading import load

    generator = load(model, device=device)
    if not isinstance(generator, Generator):
        raise UsageError(f"{model}: a translation model; regard inspect explains what it writes")
    found = replace(explain_continuation(generator, text, count), model=model.stem)
    typer.echo(json.dumps(_as_json(found), ensure_ascii=False, indent=2) if as_json else _table(found))
    if page is not None:
        write_continuation(found, page)


def write_continuation(found: "Continuation", page: Path) -> None:
    """Write the page of a text and what may come next."""
    from regard.base.files import write_text

    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, found.to_html(f"{found.text} …"))
    typer.echo(f"wrote {page}", err=True)


def _as_json(found: "Continuation") -> dict[str, object]:
    told = found.to_dict()
    effects = {layer.name: [round(one, 5) for one in layer.effects] for layer in found.part.decoder if layer.effects}
    return {"text": found.text, **{name: told[name] for name in ("model", "next", "looked_at")}, "effects": effects}


def _table(found: "Continuation") -> str:
    """The words with their probabilities as bars; below, the words of the text by the weight they got."""
    width = max((len(word.text) for word in found.next_words), default=0)
    most = max((word.probability for word in found.next_words), default=1.0)
    lines = [
        f"{word.text:<{width}}  {word.probability:7.2%}  {'█' * max(1, round(_BAR * word.probability / most))}"
        for word in found.next_words
    ]
    looked = sorted(found.looked_at(), key=lambda pair: -pair[1])[:8]
    if looked:
        told = ", ".join(f"{word} {weight:.2f}" for word, weight in looked)
        lines += ["", f"looked at (last layer, mean of its heads): {told}"]
    return "\n".join(lines)
