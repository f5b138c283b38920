"""regard score: the log-probabilities of given translations."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import DeviceOption, EngineOption, ThreadsOption, examples, use_threads
from regard.base.wording import counted

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard score runs/en-de test.en test.de > scores.txt",
        "regard score runs/en-de pairs.tsv --per-token",
    )
)
def score(
    model: Annotated[Path, typer.Argument(help="A model file or run folder.")],
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file of pairs.")],
    per_token: Annotated[bool, typer.Option("--per-token", help="Also print each subword's log-probability.")] = False,
    engine: EngineOption = "auto",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Print the log-probability of each target given its source, one line per pair."""
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.data.corpus import open_corpus
    from regard.decoding.translator import Translator
    from regard.loading import load

    if len(files) > 2:
        raise UsageError(f"score: give source and target, not {counted(len(files), 'file')}")
    translator = load(model, device=device, engine=engine, threads=threads)
    if not isinstance(translator, Translator):
        raise UsageError(f"{model}: a language model; regard evaluate gives its perplexity on a text")
    pairs = list(open_corpus(*files, blanks="error").pairs())
    for row in translator.score([pair.source for pair in pairs], [pair.target for pair in pairs]):
        tokens = "\t" + " ".join(f"{value:.4f}" for value in row) if per_token else ""
        typer.echo(f"{sum(row):.4f}{tokens}")
