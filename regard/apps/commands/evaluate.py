"""regard evaluate: how good a model is on a test set."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.display import bar
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    PrecisionOption,
    ShortlistOption,
    StrategyOption,
    ThreadsOption,
    chosen_strategy,
    examples,
    use_threads,
)

if TYPE_CHECKING:
    from regard.decoding.generator import Generator

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard evaluate runs/en-de test.en test.de",
        "regard evaluate runs/en-de test.tok.en test.tok.de --tokenize none",
        "regard evaluate runs/lm test.txt                     perplexity of a language model",
    )
)
def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file or run folder.")],
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file of pairs; one text for an LM.")],
    beam: BeamOption = None,
    strategy: StrategyOption = None,
    tokenize: Annotated[
        str | None, typer.Option(help="sacrebleu's tokenizer for BLEU; none for tokenized text.")
    ] = None,
    lowercase: Annotated[bool, typer.Option(help="Compare without regard to case.")] = False,
    samples: Annotated[int, typer.Option(min=0, help="Resamplings for the confidence interval; 0 for none.")] = 1000,
    out: Annotated[Path | None, typer.Option(help="Also write the translations to this file.")] = None,
    precision: PrecisionOption = "float32",
    shortlist: ShortlistOption = False,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print BLEU, chrF, TER, exact match and perplexity on a test set, with sacrebleu's signatures."""
    use_threads(threads)
    from regard.base.errors import RegardError, UsageError
    from regard.base.files import write_text
    from regard.data.corpus import open_corpus
    from regard.decoding.generator import Generator
    from regard.decoding.loading import load
    from regard.metrics.quality import bleu, corpus_scores, exact_match

    if len(files) > 2:
        raise UsageError(f"evaluate: give source and target, not {len(files)} files")
    if out is not None and not out.parent.is_dir():
        raise RegardError(f"--out: {out} cannot be written: there is no folder {out.parent}")
    bleu(["a"], ["a"], tokenize)  # whether there is such a tokenizer is better known now than after translating
    loaded = load(model, device=device, precision=precision, shortlist=shortlist)
    if isinstance(loaded, Generator):
        _language_model(loaded, [line.text for line in open_corpus(*files).lines()])
        return
    pairs = list(open_corpus(*files, blanks="error").pairs())
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    search = chosen_strategy(strategy, beam, loaded.strategy)
    with bar("translating", len(sources)) as advance:
        outputs = []
        for start in range(0, len(sources), 256):
            part = sources[start : start + 256]
            outputs += [one.text for one in loaded.translate(part, strategy=search, first_line=start + 1)]
            advance(len(part))
    if out is not None:
        write_text(out, "".join(f"{text}\n" for text in outputs))
    for score in corpus_scores(outputs, references, tokenize=tokenize, samples=samples, lowercase=lowercase):
        typer.echo(f"{score}\t{score.signature}")
    typer.echo(f"exact match {exact_match(outputs, references):.2f} %")
    values = [value for row in loaded.score(sources, references) for value in row]
    typer.echo(f"perplexity {math.exp(-sum(values) / len(values)):.3f} of the reference, by subword")


def _language_model(generator: "Generator", lines: list[str]) -> None:
    values = generator.score(lines)
    characters = sum(len(line) + 1 for line in lines)
    words = sum(len(line.split()) + 1 for line in lines)
    nats = -sum(values)
    typer.echo(f"perplexity {math.exp(nats / len(values)):.3f} by subword ({len(values):,} of them)")
    typer.echo(f"perplexity {math.exp(nats / words):.3f} by word ({words:,} of them, ends of lines counted)")
    typer.echo(f"bits per character {nats / math.log(2) / characters:.4f}")
