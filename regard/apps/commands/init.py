"""regard init: look at the data and write the settings of a run."""

import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import ColumnsOption, FileGroups, FormatOption, SheetOption, chosen_columns, examples

app = typer.Typer(add_completion=False)


@app.command(
    cls=FileGroups,
    epilog=examples(
        "regard init train.en train.de --dev dev.en dev.de",
        "regard init pairs.xlsx                               a spreadsheet; dev and test sets are split off",
        "regard init pairs.csv --columns English,German       or by their numbers: --columns 2,3",
        "regard init memory.tmx --source en --target de",
        "regard init corpus/ --source en --target de          a folder with train.en, train.de, dev.en …",
        "regard init text.txt --dev dev.txt                   one side of text: a language model",
        "regard init train.en train.de --slurm 2x8            also an sbatch file for two machines of 8 GPUs",
        "regard init animals/                                 pictures: a folder of PNG or JPEG files for each class",
        "regard init reviews.csv                              labels and texts: a classifier",
        "regard init words.conll                              a word and its tag a line: a tagger",
        "regard init reviews.tsv --from minilm.safetensors    fine-tune a model on labels and texts",
        "regard init lines.txt --from minilm.safetensors      sentence vectors from lines alone (SimCSE)",
        "regard init train.en train.de --from en-de.safetensors    go on from a translator; lines alone: from a GPT",
    ),
)
def init(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Source and target, or one file with both: tab-separated, CSV, JSON, TMX, XLSX; .gz, .bz2, .xz, .zst; "
            "a folder or .zip; one plain text for a language model."
        ),
    ],
    dev: Annotated[list[Path], typer.Option("--dev", help="The validation set: text that is not trained on.")] = [],  # noqa: B006
    test: Annotated[list[Path], typer.Option("--test", help="A test set, to evaluate on after training.")] = [],  # noqa: B006
    hold_out: Annotated[
        int | None,
        typer.Option(min=0, help="Without --dev: lines to hold out for dev, and as many for test; 0: none."),
    ] = None,
    columns: ColumnsOption = None,
    source: Annotated[str | None, typer.Option(help="The source language by its code, such as en.")] = None,
    target: Annotated[str | None, typer.Option(help="The target language.")] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first row of a table holds names.")
    ] = None,
    sheet: SheetOption = None,
    delimiter: Annotated[str | None, typer.Option(help="What parts the columns of CSV, such as ';' or tab.")] = None,
    format: FormatOption = None,  # noqa: A002 - the option's name
    name: Annotated[str | None, typer.Option(help="Name of the run; by default from the languages.")] = None,
    task: Annotated[
        str | None, typer.Option(help="What to learn: translate, language, classify, tag …; by default by the data.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="transformer, seq2seq, gpt, rnn_lm; by default by the data.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="A named size of the model, such as tiny or base.")] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Fine-tune this model: a model file or run folder; the data is labels and texts, lines or pairs.",
        ),
    ] = None,
    tuning: Annotated[
        str, typer.Option(help="With --from, which weights learn: all, frozen (a head alone) or adapters (LoRA).")
    ] = "all",
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("run.toml"),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    slurm: Annotated[
        str | None,
        typer.Option(help="Also write an sbatch file for SLURM: machines x GPUs of each, such as 2x8."),
    ] = None,
) -> None:
    """Choose settings that suit the given files, and write them to run.toml."""
    from regard.apps.sbatch import sbatch_file
    from regard.base.errors import UsageError
    from regard.base.files import make_folder, write_text
    from regard.data.format import TEXT_FORMATS, Hints
    from regard.data.languages import code_of
    from regard.tasks.run import run_of
    from regard.tasks.task import Wishes

    if len(files) > 2:
        raise UsageError(f"init: give source and target, or one file, but not {len(files)} (--dev comes after them)")
    if out.exists() and not force:
        raise UsageError(f"{out}: is there already; --force writes over it, --out names another file")
    cluster = None if slurm is None else _machines(slurm)
    if format is not None:
        TEXT_FORMATS.get(format, "--format")
    hints = Hints(
        columns=chosen_columns(columns),
        header=header,
        delimiter="\t" if delimiter in ("tab", "\\t") else delimiter,
        sheet=sheet,
        source=None if source is None else code_of(source),
        target=None if target is None else code_of(target),
    )
    wishes = Wishes(
        dev=tuple(dev),
        test=tuple(test),
        hints=hints,
        format=format,
        hold_out=hold_out,
        name=name,
        task=task,
        model=model,
        preset=preset,
        out=out,
    )
    advice = _advised(files, wishes) if base is None else _tuned(files, wishes, base, tuning)
    run = run_of(tomllib.loads(advice.text), "run")  # checks the settings before anything is written
    make_folder(out.parent)
    advice.write(force)
    write_text(out, advice.text)
    for reason in advice.reasons:
        typer.echo(reason)
    if cluster is not None:
        batch = out.with_suffix(".sbatch")
        write_text(batch, sbatch_file(out, run.name, *cluster))
        typer.echo(f"wrote {batch}; next: sbatch {batch}")
    typer.echo(f"wrote {out}; next: regard doctor {out}, then regard train {out}")


def _machines(text: str) -> tuple[int, int]:
    """`2x8` as the number of machines and of ranks on each."""
    from regard.base.errors import UsageError

    machines, _, ranks = text.partition("x")
    if not (machines.isdecimal() and ranks.isdecimal() and int(machines) and int(ranks)):
        raise UsageError(f"--slurm: must be machines x ranks, such as 2x8, but is {text}")
    return int(machines), int(ranks)


def _tuned(files: list[Path], wishes: Any, base: Path, tuning: str) -> Any:
    from regard.tasks.tuning_advice import advise_tuning

    return advise_tuning(files, wishes, base, tuning)


def _advised(files: list[Path], wishes: Any) -> Any:
    """The advice for these files; in a terminal, what is in doubt is asked."""
    from regard.data.format import Doubt
    from regard.tasks.task import advice_for

    while True:
        try:
            return advice_for(files, wishes)
        except Doubt as doubt:
            wishes = _asked(doubt, wishes)


def _asked(doubt: Any, wishes: Any) -> Any:
    """The wishes with the answer to what is in doubt; without a terminal the doubt is an error."""
    from regard.data.languages import code_of

    if not _is_terminal():
        raise doubt
    typer.echo(f"{doubt.problem}", err=True)
    answer = typer.prompt(f"{doubt.flag} ({doubt.example})", err=True).strip()
    match doubt.flag:
        case "--columns":
            return replace(wishes, hints=replace(wishes.hints, columns=chosen_columns(answer)))
        case "--header":
            return replace(wishes, hints=replace(wishes.hints, header=answer.lstrip("-").lower()[:1] in ("h", "y")))
        case "--source":
            source, _, target = answer.replace("--target", " ").strip().partition(" ")
            own = {"source": code_of(source), "target": code_of(target.strip()) or None}
            return replace(wishes, hints=replace(wishes.hints, **own))
        case "--task":
            return replace(wishes, task=answer)
        case "--format":
            return replace(wishes, format=answer.split()[-1])
        case flag:
            return replace(wishes, hints=replace(wishes.hints, **{flag.lstrip("-"): answer.strip("'\"")}))


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
