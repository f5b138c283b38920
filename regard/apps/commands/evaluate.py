"""regard evaluate: the scores of a model on a test set."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.display import bar
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    EngineOption,
    PrecisionOption,
    ShortlistOption,
    StrategyOption,
    ThreadsOption,
    chosen_strategy,
    examples,
    use_threads,
)

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
        str | None,
        typer.Option(help="sacrebleu's tokenizer for BLEU; that of the language unless set, none for tokenized text."),
    ] = None,
    lowercase: Annotated[bool, typer.Option(help="Ignore case.")] = False,
    samples: Annotated[
        int, typer.Option(min=0, help="Bootstrap resamplings for the confidence interval; 0: none.")
    ] = 1000,
    out: Annotated[Path | None, typer.Option(help="Also write the translations to this file.")] = None,
    precision: PrecisionOption = "float32",
    shortlist: ShortlistOption = False,
    engine: EngineOption = "torch",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print the scores on a test set: BLEU, chrF and TER with sacrebleu's signatures, exact match, perplexity."""
    use_threads(threads)
    from regard.base.errors import RegardError, UsageError
    from regard.loading import load_task
    from regard.tasks.task import Evaluation

    if len(files) > 2:
        raise UsageError(f"evaluate: give source and target, not {len(files)} files")
    if out is not None and not out.parent.is_dir():
        raise RegardError(f"--out: {out} cannot be written: there is no folder {out.parent}")
    speed: dict[str, Any] = {"precision": precision, "shortlist": shortlist, "engine": engine, "threads": threads}
    task, loaded = load_task(model, device=device, **speed)
    with ExitStack() as bars:
        how = Evaluation(
            search=lambda own: chosen_strategy(strategy, beam, own),
            tokenize=tokenize,
            lowercase=lowercase,
            samples=samples,
            out=out,
            started=lambda count: bars.enter_context(bar("evaluating", count)),
        )
        scores = task.evaluate(loaded, files, how)
    for score in scores:
        typer.echo(f"{score}\t{score.signature}" if score.signature else str(score))
