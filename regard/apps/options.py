"""Options that commands share: decoding, device, engine, threads, markup, groups of files."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

BeamOption = Annotated[int | None, typer.Option("--beam", min=1, help="Beam size; 1 is greedy.")]
StrategyOption = Annotated[
    str | None, typer.Option("--strategy", help="Any decoding strategy, such as 'sample(temperature=0.8, top_k=20)'.")
]


def _usable(device: str) -> str:
    """Check that the device is available."""
    if device != "cpu":
        import torch

        from regard.base.errors import UsageError

        try:
            torch.empty(1, device=device).item()
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"--device {device}: cannot be used: {str(error).partition(chr(10))[0]}") from error
    return device


def _computable(precision: str) -> str:
    """Check that the processor can compute in this precision; say which instructions are disabled for it."""
    if precision == "int8":
        from regard.base import processor

        processor.check("int8", "--precision")
        held = processor.held()
        if held is not None:
            typer.echo(f"regard: {held}", err=True)
    return precision


DeviceOption = Annotated[str, typer.Option("--device", callback=_usable, help="The device: cpu, cuda, cuda:1 …")]
EngineOption = Annotated[
    str,
    typer.Option("--engine", help="torch, or ctranslate2, which is faster; auto: ctranslate2 for an export of it."),
]
PrecisionOption = Annotated[
    str,
    typer.Option("--precision", callback=_computable, help="Of the matrix products: float32, or int8 (quantization)."),
]
ShortlistOption = Annotated[bool, typer.Option("--shortlist", help="Score only likely words; see regard shortlist.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="CPU threads; by default all cores.")]


def chosen_strategy(strategy: str | None, beam: int | None, default: Any, **changes: Any) -> Any:
    """The decoding strategy of the options: --strategy, or the model's own with some settings changed."""
    from regard.base.errors import UsageError
    from regard.decoding.strategy import STRATEGIES

    chosen = default
    if strategy is not None:
        if beam is not None:
            raise UsageError("give --beam or --strategy, not both")
        chosen = STRATEGIES.make(strategy, "--strategy")
    given = {name: value for name, value in changes.items() if value is not None}
    if beam is not None:
        given["size"] = beam
    if "size" in given and not hasattr(chosen, "size"):
        chosen = STRATEGIES.make("beam")
    known = {field.name for field in dataclasses.fields(chosen)}
    for name in given:
        if name not in known:
            kind = type(chosen).__name__.lower()
            raise UsageError(f"--{name.replace('_', '-')}: a {kind} search has no such setting")
    return dataclasses.replace(chosen, **given)


def use_threads(threads: int | None) -> None:
    """Set the number of CPU threads."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


class Markup(StrEnum):
    """The kind of markup in the text."""

    html = "html"
    placeholders = "placeholders"
    none = "none"


MarkupOption = Annotated[
    Markup | None,
    typer.Option(
        "--markup",
        help="html: keep the tags of an HTML document; none: translate placeholders such as {name}, %s and URLs like "
        "words, which are kept otherwise.",
    ),
]
KeepOption = Annotated[
    str | None,
    typer.Option("--keep", help="The kinds of placeholders to keep, by default url,email,braces,percent; also number."),
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        "--split", help="sentence: each sentence is translated by itself; line: whole lines; by default as in training."
    ),
]
_Translate = Callable[[list[str]], Sequence[Any]]


def checked_split(split: str | None) -> Any:
    """The value of --split."""
    from regard.base.errors import check_one_of
    from regard.decoding.layout import SPLITS

    if split is not None:
        check_one_of("translate", SPLITS, split=split)
    return split


def keeper_of(translator: Any, markup: Markup | None, keep: str | None) -> Any:
    """What keeps placeholders and unreadable characters, by --markup and --keep; None if nothing does."""
    from regard.base.errors import UsageError
    from regard.markup.document import Keeping
    from regard.markup.placeholders import ALWAYS

    if markup is Markup.none:
        if keep is not None:
            raise UsageError("--keep: cannot be given with --markup none")
        return None
    kinds = ALWAYS if keep is None else tuple(kind.strip() for kind in keep.split(",") if kind.strip())
    return Keeping.between(translator.source, translator.target, kinds)


def keeping(markup: Markup | None, keeper: Any, translate: _Translate, **others: Any) -> _Translate:
    """With --markup html, wrap a translate function so that each text is a document; `others` do not combine."""
    from regard.base.errors import UsageError
    from regard.decoding.translation import Translation
    from regard.markup.document import translate_pages

    if markup is not Markup.html:
        return translate
    for name, value in others.items():
        if value:
            raise UsageError(f"--{name.replace('_', '-')}: cannot be given with --markup {markup.value}")
    return lambda pages: [Translation(page, 0.0, ()) for page in translate_pages(translate, pages, keeper.kept)]


GlossaryOption = Annotated[
    Path | None,
    typer.Option("--glossary", help="Terms that must come out as given: a term, a tab and its translation a line."),
]

ColumnsOption = Annotated[
    str | None,
    typer.Option("--columns", help="Source and target columns by number or name, or keys: 1,2 or en,de."),
]
SheetOption = Annotated[str | None, typer.Option("--sheet", help="The sheet of a spreadsheet.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="text, tsv, csv, marked, jsonl, json, tmx or xlsx; by default recognized."),
]


def chosen_columns(text: str | None) -> tuple[int | str, ...] | None:
    """`1,3` or `English,German` as columns."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return tuple(int(part) if part.isdecimal() else part for part in parts if part)


GROUPS = ("--dev", "--test")


class FileGroups(TyperCommand):
    """A command whose options in GROUPS take one or two values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Rewrite `--dev a b` as `--dev a --dev b`, which the parser reads."""
        return super().parse_args(ctx, list(_spread(args)))


def _spread(args: list[str]) -> Iterable[str]:
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word not in GROUPS:
            yield word
            continue
        files: list[str] = []
        while rest and len(files) < 2 and not rest[0].startswith("-"):
            files.append(rest.pop(0))
        for file in files or [""]:
            yield from (word, file) if file else (word,)


def examples(*lines: str) -> str:
    """The end of a command's help: example command lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
