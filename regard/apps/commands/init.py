"""regard init: looks at the data and writes the settings of a run."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import FileGroups, examples

app = typer.Typer(add_completion=False)

TEMPLATE = """\
# Settings of a run; regard train {out} follows them. Whatever is not said has a default.
{reasons}
name = {name}

[data]
train = {train}
{dev}{languages}
[subwords]
kind = "{subwords}"            # bpe, unigram, word or character
size = {size}
sharing = "{sharing}"          # one vocabulary for both languages, or separate ones

[batches]
tokens = {tokens}                  # of a batch, padding counted

[model]
name = "{model}"
preset = "{preset}"            # any of its settings can be set here too, such as dropout = 0.2
{sizes}
[training]
steps = {steps}
patience = 10                  # validations without a better one, then it ends
validate_every = {validate_every}
checkpoint_every = {validate_every}
metric = "{metric}"            # which number of a validation decides
average = 5                    # of so many of the best validations the weights are averaged

[training.optimizer]
name = "{optimizer}"                  # adam, or muon, which needs fewer steps
learning_rate = {rate}

[training.schedule]
name = "cosine"                # falls to 0 at the last step; with more steps it learns longer, and better
warmup = {warmup}
steps = {steps}
{decoding}"""

DECODING = """
[decoding]
name = "beam"
size = 5
"""
PATIENCE = "patience = 10.0                # wrong words of fewer letters end first: they must not end the search\n"


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard init train.en train.de --dev dev.en dev.de",
        "regard init pairs.tsv --dev dev.tsv --model seq2seq --preset luong",
        "regard init text.txt --dev dev.txt                   one side of text: a language model",
    ),
)
def init(
    files: Annotated[list[Path], typer.Argument(help="Source and target, or one file: .tsv, .jsonl, plain text; .gz.")],
    dev: Annotated[
        list[Path], typer.Option("--dev", help="The same for validation: text that is not trained on.")
    ] = [],  # noqa: B006
    name: Annotated[str | None, typer.Option(help="Of the run; from the languages unless set.")] = None,
    model: Annotated[str | None, typer.Option(help="transformer, seq2seq, gpt, rnn_lm; chosen by the data.")] = None,
    preset: Annotated[str | None, typer.Option(help="Named sizes of the model, such as tiny or base.")] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("run.toml"),
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Look at parallel text, choose settings that suit it, and write them to run.toml."""
    from regard.apps.advice import advise, look_at
    from regard.apps.run_settings import run_of
    from regard.base.errors import UsageError
    from regard.base.files import write_text
    from regard.data.corpus import open_corpus

    if len(files) > 2:
        raise UsageError(f"init: give source and target, or one file, but not {len(files)} (--dev comes after them)")
    if out.exists() and not force:
        raise UsageError(f"{out}: is there already; --force writes over it, --out names another file")
    look = look_at(open_corpus(*files))
    if dev:
        sides = look_at(open_corpus(*dev, blanks="error" if look.sides == 2 else "skip")).sides
        if sides != look.sides:
            raise UsageError(f"--dev: must have as many sides as the training text ({look.sides}), but has {sides}")
    advice = advise(look, model, preset)
    codes = [language_of(file) for file in files] if len(files) == 2 else []
    named = name or ("-".join(code for code in codes if code) or files[0].name.split(".")[0] or "run")
    text = TEMPLATE.format(
        out=out,
        reasons="\n".join(f"# {reason}" for reason in advice.reasons),
        name=_quoted(named),
        train=_paths(files, out),
        dev=f"dev = {_paths(dev, out)}\n" if dev else "",
        languages=_languages(codes),
        sharing="separate" if advice.subwords == "character" and advice.model == "seq2seq" else "joint",
        metric=("bleu" if advice.subwords != "character" else "exact") if dev and look.sides == 2 else "loss",
        decoding=(DECODING + PATIENCE * (advice.subwords == "character")) if look.sides == 2 else "",
        sizes="".join(f"{key} = {value}\n" for key, value in advice.sizes.items()),
        **{key: value for key, value in vars(advice).items() if key not in ("reasons", "sizes")},
    )
    settings = run_of(tomllib.loads(text), named)  # what is wrong is said before a file is written
    settings.check_sides(look.sides)
    write_text(out, text)
    typer.echo(f"{look.lines:,} lines, {look.words:.1f} words each")
    for reason in advice.reasons:
        typer.echo(reason)
    typer.echo(f"wrote {out}; next: regard doctor {out}, then regard train {out}")


def _paths(files: list[Path], out: Path) -> str:
    """As run.toml has them: from its own folder."""
    places = [file.resolve() for file in files]
    home = out.resolve().parent
    shown = [place.relative_to(home) if place.is_relative_to(home) else place for place in places]
    return "[" + ", ".join(_quoted(str(place)) for place in shown) + "]"


def _languages(codes: list[Any]) -> str:
    if len(codes) != 2 or not all(codes):
        return ""
    return f"source = {_quoted(codes[0])}\ntarget = {_quoted(codes[1])}\n"


def _quoted(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def language_of(file: Path) -> str | None:
    """`train.de`, `train.lc.de.gz` and `corpus.de.txt` are German; None where the name does not say."""
    parts = [part for part in file.name.split(".")[1:] if part not in ("gz", "txt", "text", "tok", "tsv", "jsonl")]
    last = parts[-1] if parts else ""
    code, _, region = last.replace("-", "_").partition("_")
    plausible = 2 <= len(code) <= 3 and code.isalpha() and (not region or region.isalnum())
    return last if plausible else None
