"""regard shortlist: learn the likely translations of each token, and store them in the model file."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.commands.align import read_pairs
from regard.apps.display import say_next
from regard.apps.options import examples

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard shortlist runs/en-de train.en train.de",
        "regard translate runs/en-de --shortlist < input.en",
    )
)
def shortlist(
    model: Annotated[Path, typer.Argument(help="A model file or run folder; the list is written into it.")],
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file of pairs; the training data.")],
    top: Annotated[int, typer.Option(min=1, help="Number of translations per token.")] = 10,
    frequent: Annotated[int, typer.Option(min=0, help="Number of frequent tokens that are always scored.")] = 1500,
    lines: Annotated[int, typer.Option(min=1, help="The most pairs to learn from.")] = 300_000,
) -> None:
    """Learn which tokens may translate which, so that `regard translate --shortlist` scores only those.

    Translations may differ in a word here and there; measure both with regard evaluate before you rely on it.
    """
    from regard.base.errors import UsageError
    from regard.data.subwords.tokenizer import EOS
    from regard.decoding.opening import subwords_of
    from regard.decoding.shortlist import Shortlist
    from regard.runs.artifact import load_artifact, save_artifact
    from regard.runs.folder import model_file

    file = model_file(model)
    artifact = load_artifact(file)
    if "source" not in artifact.tokenizers:
        raise UsageError(f"{file}: a language model, which has no source whose words could be listed")
    sources, targets = (side[:lines] for side in read_pairs(files, "shortlist"))
    known = subwords_of(artifact)
    read, said = known.source.encode_batch(sources), known.target.encode_batch(targets)
    pairs = [([*one, EOS], [*other, EOS]) for one, other in zip(read, said, strict=True)]
    found = Shortlist.learn(pairs, *artifact.vocabularies, top=top, frequent=frequent)
    save_artifact(file, artifact.with_extras(shortlist=found.to_extras()))
    listed = sum(len(own) for own in found.translations)
    size = len(found.to_extras()["tokens"]) / 2**10
    typer.echo(f"{listed:,} translations, {len(found.frequent):,} frequent tokens; {size:,.0f} KiB kept in {file}")
    say_next(f"regard translate {model} --shortlist < input.txt")
