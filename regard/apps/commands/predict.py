"""regard predict: the answers of a classifier, a tagger or a model of masked tokens, line by line."""

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import DeviceOption, ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)

_AT_ONCE = 256


@app.command(
    epilog=examples(
        "regard predict runs/reviews < reviews.txt",
        "regard predict runs/reviews reviews.txt --json      all probabilities, an object a line",
        "echo 'the cat <mask> on the mat' | regard predict runs/bert",
        "regard predict runs/hull points.jsonl               positions of the input: a pointer network",
        "regard predict runs/digits seven.png eight.png      pictures, folders of pictures, or files of arrays",
        "regard predict runs/cora cora.npz                   the class of every node of a graph",
    )
)
def predict(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of a classifier or masked-token model.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help="A text a line, pictures or graphs; from standard input, texts or names of pictures, one a line."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print each answer in full, as a JSON object.")] = False,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print an answer to each line: the label and its probability, or the line with each <mask> filled.

    A classifier of two texts reads them from one line, split at a tab.
    """
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.base.files import read_lines
    from regard.decoding.image_classifier import ImageClassifier
    from regard.decoding.node_classifier import NodeClassifier
    from regard.decoding.predictor import Answering
    from regard.decoding.sentence_encoder import SentenceEncoder
    from regard.loading import load

    loaded = load(model, device=device)
    if isinstance(loaded, SentenceEncoder):
        raise UsageError(f"{model}: a sentence encoder, which gives vectors; use regard embed or nearest")
    if not isinstance(loaded, Answering | NodeClassifier):
        writes = hasattr(loaded, "translate") or hasattr(loaded, "generate")
        told = "writes texts; use regard translate or generate" if writes else "answers no lines; use regard evaluate"
        raise UsageError(f"{model}: a {type(loaded).__name__.lower()}, which {told}")
    if not files:
        lines = (line.rstrip("\n") for line in sys.stdin)
    elif isinstance(loaded, ImageClassifier | NodeClassifier):
        lines = map(str, files)
    else:
        lines = (line for file in files for line in read_lines(file))
    while part := list(islice(lines, _AT_ONCE)):
        for one in loaded.answers(part) if isinstance(loaded, NodeClassifier) else loaded.predict(part):
            typer.echo(json.dumps(dict(one.details), ensure_ascii=False) if as_json else one.text)
