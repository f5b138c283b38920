"""regard align: word alignment of texts and their translations."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.apps.display import bar
from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads
from regard.base.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from regard.alignment.aligner import Aligner
    from regard.data.links import Links
    from regard.decoding.translator import Translator

    Split = Callable[[str], list[str]]

app = typer.Typer(add_completion=False)
ReverseOption = Annotated[
    Path | None, typer.Option("--reverse", help="A model that translates the other way, for better links.")
]
_AT_ONCE = 1024
_LOOKED_AT = 1000


@app.command(
    epilog=examples(
        "regard align runs/en-de test.en test.de > links.txt",
        "regard align runs/en-de test.en test.de --reverse runs/de-en --symmetrize intersection",
        "regard align runs/en-de pairs.tsv --json",
        "regard align runs/en-de test.en test.de --gold test.links --out links.txt",
        "regard align eflomal train.en train.de --out train.links      links to guide a training by",
    )
)
def align(
    model: Annotated[Path, typer.Argument(help="A model file or run folder; or eflomal, which needs no model.")],
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file of pairs.")],
    reverse: ReverseOption = None,
    symmetrize: Annotated[
        str, typer.Option(help="With --reverse or eflomal: grow-diag-final-and, intersection or union.")
    ] = "grow-diag-final-and",
    letters: Annotated[
        int | None, typer.Option(min=0, help="With eflomal: words with these first letters are one, 0 whole words.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Also link every source word with at least this weight.")
    ] = None,
    null: Annotated[float, typer.Option(min=0, max=1, help="No link if the largest weight is below this.")] = 0.0,
    words: Annotated[
        str | None,
        typer.Option(
            help="What is linked: spaces, what white space separates, or segments, with punctuation apart and texts "
            "without spaces segmented; by default spaces, unless such texts are not segmented."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, with words and confidence.")] = False,
    gold: Annotated[Path | None, typer.Option(help="Gold links: print precision, recall and AER.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the links to this file, not to standard output.")
    ] = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Align the words of texts and their translations, one line per pair: 0-0 1-2 is source word - target word."""
    use_threads(threads)
    from regard.alignment.aligner import Aligner
    from regard.base.files import write_text
    from regard.data.links import read_gold, to_pharaoh
    from regard.data.subwords.tokenizer import words as spaced_words
    from regard.metrics.alignment_error import error_rates

    sources, targets = read_pairs(files, "align")
    split = _splitting(words, sources, targets)
    right = None
    if gold is not None:
        right = read_gold(gold, [(len(split(one)), len(split(two))) for one, two in zip(sources, targets, strict=True)])
    if str(model) == "eflomal":
        read, said = ([" ".join(split(text)) for text in side] for side in (sources, targets))
        found = _by_eflomal(read, said, symmetrize, letters)
    else:
        back = None if reverse is None else load_translator(reverse, device)
        how: dict[str, Any] = {
            "symmetrize": symmetrize,
            "threshold": threshold,
            "null": null,
            "grain": "words" if split is spaced_words else "segments",
        }
        aligner = Aligner(load_translator(model, device), back, **how)
        found = _by_attention(aligner, sources, targets, (str(model), str(reverse)))
    rows = zip(sources, targets, found, strict=True)
    lines = [_as_json(at, *row, split) if as_json else to_pharaoh(row[2]) for at, row in enumerate(rows, start=1)]
    if out is not None:
        write_text(out, "".join(f"{line}\n" for line in lines))
    else:
        for line in lines:
            typer.echo(line)
    if right is not None:
        typer.echo(f"{error_rates(found, right)}", err=out is None)


def _by_attention(aligner: "Aligner", sources: list[str], targets: list[str], names: tuple[str, str]) -> "list[Links]":
    """The links from a model's attention, after a check of its direction."""
    from regard.alignment.direction import check_direction

    check_direction(aligner.translator, sources, targets, names[0])
    if aligner.reverse is not None:
        check_direction(aligner.reverse, targets, sources, names[1])
    found: list[Links] = []
    with bar("aligning", len(sources)) as advance:
        for start in range(0, len(sources), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            found += aligner.align(sources[part], targets[part])
            advance(len(sources[part]))
    return found


def _by_eflomal(sources: list[str], targets: list[str], symmetrize: str, letters: int | None) -> "list[Links]":
    """The links by eflomal, a statistical aligner that needs no model."""
    from regard.alignment import eflomal
    from regard.alignment.symmetrizing import SYMMETRIZATIONS
    from regard.base.errors import check_one_of

    check_one_of("align", SYMMETRIZATIONS, symmetrize=symmetrize)
    forward, backward = eflomal.align_pairs(zip(sources, targets, strict=True), letters)
    return [SYMMETRIZATIONS[symmetrize](one, other) for one, other in zip(forward, backward, strict=True)]


def read_pairs(files: list[Path], command: str) -> tuple[list[str], list[str]]:
    """Read the two sides of a parallel text; a blank line is an error."""
    from regard.base.errors import UsageError
    from regard.data.corpus import open_corpus

    if len(files) > 2:
        raise UsageError(f"{command}: give source and target, not {counted(len(files), 'file')}")
    pairs = list(open_corpus(*files, blanks="error").pairs())
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


def load_translator(model: Path, device: str) -> "Translator":
    """A translation model with attention over its source."""
    from regard.base.errors import UsageError
    from regard.decoding.translator import Translator
    from regard.loading import load

    translator = load(model, device=device)
    if not isinstance(translator, Translator):
        raise UsageError(f"{model}: a language model, which has no source to align with")
    if translator.aligner is None:
        raise UsageError(f"{model}: the model has no attention over its source, so it cannot align words")
    return translator


def links_as_json(links: "Links") -> list[dict[str, Any]]:
    """Links as JSON objects."""
    return [{"source": one.source, "target": one.target, "confidence": round(one.confidence, 4)} for one in links]


def _as_json(line: int, source: str, target: str, links: "Links", split: "Split") -> str:
    content = {"line": line, "source": split(source), "target": split(target), "links": links_as_json(links)}
    return json.dumps(content, ensure_ascii=False)


def _splitting(chosen: str | None, sources: list[str], targets: list[str]) -> "Split":
    """What finds the words of a text, by --words; else white space, unless the texts have none between words."""
    from itertools import chain

    from regard.base.errors import check_one_of
    from regard.data.subwords.tokenizer import words
    from regard.data.word_spans import is_spaced, words_of

    if chosen is not None:
        check_one_of("align", ("spaces", "segments"), words=chosen)
        return words if chosen == "spaces" else words_of
    if is_spaced(chain(sources[:_LOOKED_AT], targets[:_LOOKED_AT])):
        return words
    typer.echo(
        "regard: a side has no spaces between words, so links count the segments that --json shows; --words spaces "
        "counts what white space separates",
        err=True,
    )
    return words_of
