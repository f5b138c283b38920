"""regard evaluate: the scores of a model on a test set."""

import json
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.apps.display import bar, say_next
from regard.apps.options import (
    BeamOption,
    ColumnsOption,
    DeviceOption,
    EngineOption,
    FormatOption,
    PrecisionOption,
    SheetOption,
    ShortlistOption,
    StrategyOption,
    ThreadsOption,
    chosen_columns,
    chosen_strategy,
    examples,
    use_threads,
)

if TYPE_CHECKING:
    from regard.metrics.quality import QualityScore
    from regard.metrics.significance import Judged, PairedScore

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard evaluate runs/en-de test.en test.de",
        "regard evaluate runs/en-de test.tok.en test.tok.de --tokenize none",
        "regard evaluate runs/en-de test.en test.de --baseline runs/old      is the difference significant?",
        "regard evaluate runs/en-de test.xlsx                 tables too: --columns English,German",
        "regard evaluate runs/lm test.txt                     perplexity of a language model",
        "regard evaluate runs/xl test.txt --memory 512        the same with a longer memory than in training",
        "regard evaluate runs/vae test.npz --bound 5000       a VAE: ELBO and a tighter bound on log p(x), in nats",
        "torchrun --nproc-per-node 4 -m regard evaluate runs/en-de test.en test.de",
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
    baseline: Annotated[
        Path | None,
        typer.Option(help="Another model, or a file of its translations: test whether the difference is chance."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the scores as JSON.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Also write the outputs to this file; of a classifier, a .png is a confusion matrix."
        ),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(min=1, help="Let a model with a rolling memory (transformer_xl) see so many tokens back."),
    ] = None,
    bound: Annotated[
        int | None,
        typer.Option(min=1, help="Of a VAE, also the importance-weighted bound on log p(x) with this many samples."),
    ] = None,
    columns: ColumnsOption = None,
    sheet: SheetOption = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    precision: PrecisionOption = "float32",
    shortlist: ShortlistOption = False,
    engine: EngineOption = "auto",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print the scores on a test set: BLEU, chrF and TER with sacrebleu's signatures, exact match, perplexity.

    With --baseline, a paired bootstrap test compares both systems: a p-value below 0.05 means that the difference is
    unlikely to come from the choice of sentences.
    """
    use_threads(threads)
    from regard.base.errors import RegardError, UsageError
    from regard.base.joining import joined_ranks, own_device
    from regard.base.ranks import sharing
    from regard.data.format import Hints
    from regard.loading import load_task
    from regard.tasks.task import Evaluation

    if len(files) > 2:
        raise UsageError(f"evaluate: give source and target, not {len(files)} files")
    if out is not None and not out.parent.is_dir():
        raise RegardError(f"--out: {out} cannot be written: there is no folder {out.parent}")
    if baseline is not None and not samples:
        raise UsageError("--baseline: the test resamples the sentences, so --samples must be more than 0")
    if baseline is not None and not baseline.exists():
        raise UsageError(f"--baseline: {baseline}: there is no such file or folder")
    speed: dict[str, Any] = {"precision": precision, "shortlist": shortlist, "engine": engine, "threads": threads}
    task, loaded = load_task(model, device=own_device(device), **speed)
    if bound is not None and not hasattr(loaded, "bound"):
        raise UsageError(f"--bound: {model}: only a vae has a bound on the likelihood")
    judged: list[Judged] = []
    with ExitStack() as bars:
        ranks = bars.enter_context(joined_ranks(device))
        bars.enter_context(sharing(ranks))
        how = Evaluation(
            judged=judged.append,
            search=lambda own: chosen_strategy(strategy, beam, own),
            tokenize=tokenize,
            lowercase=lowercase,
            samples=samples,
            hints=Hints(columns=chosen_columns(columns), sheet=sheet),
            format=format,
            out=out if ranks.first else None,
            memory=memory,
            bound=bound,
            warn=lambda text: typer.echo(f"warning: {text}", err=True) if ranks.first else None,
            started=lambda count: bars.enter_context(bar("evaluating", count)) if ranks.first else bool,
        )
        scores = task.evaluate(loaded, files, how)
        if baseline is not None and not judged:
            raise UsageError(f"--baseline: {model}: only systems that write text can be compared by this test")
        paired = [] if baseline is None else _compared(judged[0], baseline, files, how, device, engine)
    if ranks.first:
        _show(scores, paired, baseline, as_json)
        say_next(f"regard serve {model}")


def _compared(
    own: "Judged", baseline: Path, files: list[Path], how: Any, device: str, engine: str
) -> list["PairedScore"]:
    """The scores of the baseline and of the model, by a paired bootstrap test."""
    from regard.base.files import read_lines
    from regard.loading import load_task
    from regard.metrics.significance import paired_bootstrap
    from regard.runs.snapshot import holds_model

    others: list[Judged] = []
    if holds_model(baseline):
        task, loaded = load_task(baseline, device=device, engine=engine)
        task.evaluate(loaded, files, replace(how, judged=others.append, groups=1, out=None))
    else:
        others.append(replace(own, outputs=tuple(read_lines(baseline))))
    names = {"baseline": str(baseline), "model": "the model"}
    found = paired_bootstrap(dict(zip(names.values(), (*others[:1], own), strict=True)), samples=how.samples)
    return [replace(score, system=next(key for key, name in names.items() if name == score.system)) for score in found]


def _show(scores: list["QualityScore"], paired: list["PairedScore"], baseline: Path | None, as_json: bool) -> None:
    if as_json:
        about = {} if baseline is None else {"baseline": str(baseline), "paired": [asdict(score) for score in paired]}
        typer.echo(json.dumps({"scores": [asdict(score) for score in scores], **about}, ensure_ascii=False, indent=2))
        return
    for score in scores:
        typer.echo(f"{score}\t{score.signature}" if score.signature else str(score))
    by_system = {(score.system, score.measure): score for score in paired}
    if paired:
        typer.echo(f"\nagainst {baseline}, by a paired bootstrap test:")
    for measure in dict.fromkeys(score.measure for score in paired):
        own, other = by_system["model", measure], by_system["baseline", measure]
        typer.echo(f"{measure} {own.difference:+.2f}\tp = {own.p_value:.4f}\tbaseline {other}\t{own.signature}")
