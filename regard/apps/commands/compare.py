"""regard compare: several models on one test set, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.display import bar
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    FileGroups,
    StrategyOption,
    ThreadsOption,
    chosen_strategy,
    examples,
    use_threads,
)

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard compare runs/with-attention runs/without --test test.en test.de",
        "regard compare runs/* --test test.tsv --out lengths.svg",
    ),
)
def compare(
    models: Annotated[list[Path], typer.Argument(help="Model files or run folders.")],
    test: Annotated[list[Path], typer.Option("--test", help="Source and target, or one file of pairs.")],
    out: Annotated[Path | None, typer.Option(help="Draw BLEU by the length of the source to this file.")] = None,
    groups: Annotated[int, typer.Option(min=1, help="How many groups of lengths.")] = 6,
    tokenize: Annotated[str | None, typer.Option(help="sacrebleu's tokenizer; none for tokenized text.")] = None,
    beam: BeamOption = None,
    strategy: StrategyOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Translate a test set with each model and print BLEU, overall and by the length of the source.

    Below each but the first: how much of the first model's BLEU it is.
    """
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.data.corpus import open_corpus
    from regard.decoding.loading import load
    from regard.decoding.translator import Translator
    from regard.inspection.pictures.draw import save
    from regard.inspection.pictures.length_picture import length_picture
    from regard.metrics.by_length import bleu_by_length, by_length, percent_of
    from regard.metrics.quality import bleu

    bleu(["a"], ["a"], tokenize)  # an unknown tokenizer is better known now than after translating
    pairs = list(open_corpus(*test, blanks="error").pairs())
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    parts = by_length(sources, groups)
    typer.echo("\t".join(["model", "all", *map(str, parts)]))
    scores: dict[str, list[float]] = {}
    with bar("translating", len(models)) as advance:
        for model in models:
            translator = load(model, device=device)
            if not isinstance(translator, Translator):
                raise UsageError(f"{model}: a language model, which cannot translate")
            search = chosen_strategy(strategy, beam, translator.strategy)
            outputs = [one.text for one in translator.translate(sources, strategy=search)]
            name = model.stem if model.suffix else model.name
            name = str(model) if name in scores else name
            own = [bleu(outputs, references, tokenize), *bleu_by_length(outputs, references, parts, tokenize)]
            typer.echo("\t".join([name, f"{own[0]:.2f}", *(f"{value:.1f}" for value in own[1:])]))
            scores[name] = own
            first, most = next(iter(scores.items()))
            if name != first:
                typer.echo("\t".join([f"% of {first}", *(f"{share:.0f}" for share in percent_of(own, most))]))
            advance(1)
    if out is not None:
        save(length_picture(parts, {name: own[1:] for name, own in scores.items()}), out)
        typer.echo(f"wrote {out}", err=True)
