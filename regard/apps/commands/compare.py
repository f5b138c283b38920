"""regard compare: evaluate several models on one test set, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.apps.display import bar
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    EngineOption,
    FileGroups,
    StrategyOption,
    ThreadsOption,
    chosen_strategy,
    examples,
    use_threads,
)

if TYPE_CHECKING:
    from regard.metrics.quality import QualityScore

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard compare runs/with-attention runs/without --test test.en test.de",
        "regard compare runs/* --test test.tsv --out lengths.svg",
    ),
)
def compare(
    models: Annotated[list[Path], typer.Argument(help="Model files, run folders or snapshots.")],
    test: Annotated[list[Path], typer.Option("--test", help="Source and target, or one file of pairs.")],
    out: Annotated[Path | None, typer.Option(help="Draw BLEU by source length to this file.")] = None,
    groups: Annotated[int, typer.Option(min=1, help="Number of source length groups.")] = 6,
    tokenize: Annotated[
        str | None,
        typer.Option(help="sacrebleu's tokenizer; that of the language unless set, none for tokenized text."),
    ] = None,
    beam: BeamOption = None,
    strategy: StrategyOption = None,
    engine: EngineOption = "torch",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Evaluate each model on a test set and print its score; for translations also by source length.

    Each model after the first is also given as a percentage of the first model's score.
    """
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.loading import load_task
    from regard.metrics.by_length import percent_of
    from regard.tasks.task import Evaluation

    how = Evaluation(search=lambda own: chosen_strategy(strategy, beam, own), tokenize=tokenize, groups=groups)
    scores: dict[str, QualityScore] = {}
    with bar("evaluating", len(models)) as advance:
        for model in models:
            task, loaded = load_task(model, device=device, engine=engine, threads=threads)
            found = task.evaluate(loaded, test, how)[0]
            name = model.stem if model.suffix else model.name
            name = str(model) if name in scores else name
            if not scores:
                typer.echo("\t".join(["model", "all", *found.groups]))
            first = next(iter(scores), None)
            if first is not None and scores[first].name != found.name:
                raise UsageError(
                    f"{model}: its {found.name} cannot be compared with the {scores[first].name} of {first}"
                )
            scores[name] = found
            typer.echo("\t".join([name, f"{found.value:.2f}", *(f"{value:.1f}" for value in found.groups.values())]))
            if first is not None:
                typer.echo(
                    "\t".join(
                        [f"% of {first}", *(f"{one:.0f}" for one in percent_of(_values(found), _values(scores[first])))]
                    )
                )
            advance(1)
    if out is not None:
        from regard.inspection.pictures.draw import save_figure
        from regard.inspection.pictures.length_picture import length_picture

        drawn = {name: list(one.groups.values()) for name, one in scores.items()}
        save_figure(length_picture(list(found.groups), drawn), out)
        typer.echo(f"wrote {out}", err=True)


def _values(score: "QualityScore") -> list[float]:
    """The score overall and in each group."""
    return [score.value, *score.groups.values()]
