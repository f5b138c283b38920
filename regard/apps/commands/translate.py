"""regard translate: translate lines from standard input to standard output."""

import json
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.commands.align import links_as_json
from regard.apps.options import (
    BeamOption,
    DeviceOption,
    EngineOption,
    GlossaryOption,
    KeepOption,
    Markup,
    MarkupOption,
    PrecisionOption,
    ShortlistOption,
    SplitOption,
    StrategyOption,
    ThreadsOption,
    checked_split,
    chosen_strategy,
    examples,
    keeper_of,
    keeping,
    use_threads,
)

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard translate runs/en-de < input.en > output.de",
        "echo 'Two dogs play.' | regard translate en-de.safetensors",
        "regard translate runs/a runs/b < input.en            an ensemble",
        "regard translate runs/en-de --beam 10 --n-best 3 --json < input.en",
        "regard translate --engine ctranslate2 runs/en-de < input.en    faster",
        "regard translate runs/en-de --alignments < input.en  translation ||| 0-0 1-2",
        "regard translate runs/en-de --glossary terms.tsv < input.en",
        "regard translate runs/en-de --markup html < page.en.html > page.de.html",
    )
)
def translate(
    models: Annotated[list[Path], typer.Argument(help="Model files or run folders; several form an ensemble.")],
    beam: BeamOption = None,
    strategy: StrategyOption = None,
    n_best: Annotated[int | None, typer.Option(min=1, help="Number of translations per line.")] = None,
    length_penalty: Annotated[
        float | None, typer.Option(help="Length penalty: above 1 favors longer outputs, below 1 shorter.")
    ] = None,
    min_length: Annotated[int | None, typer.Option(min=0, help="Minimum output length, in subwords.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="Maximum output length, in subwords.")] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=0, help="Never repeat an n-gram of this many subwords.")
    ] = None,
    prefix: Annotated[str | None, typer.Option(help="A prefix that every translation starts with.")] = None,
    alignments: Annotated[bool, typer.Option("--alignments", help="Also print word links, source-target.")] = False,
    glossary: GlossaryOption = None,
    markup: MarkupOption = None,
    keep: KeepOption = None,
    split: SplitOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line, with scores.")] = False,
    batch: Annotated[int, typer.Option(min=1, help="Maximum lines translated together.")] = 1024,
    precision: PrecisionOption = "float32",
    shortlist: ShortlistOption = False,
    engine: EngineOption = "torch",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Translate lines from standard input to standard output, in order, as they arrive."""
    use_threads(threads)
    from regard.base.allocator import keep_memory
    from regard.base.errors import UsageError
    from regard.decoding.glossary import Glossary, checked_glossary
    from regard.decoding.stream import pipe_lines, pump
    from regard.decoding.translation import Translation
    from regard.decoding.translator import Translator
    from regard.loading import load

    speed: dict[str, Any] = {"precision": precision, "shortlist": shortlist, "engine": engine, "threads": threads}
    keep_memory()
    translator = load(models, device=device, tell=_tell, **speed)
    if not isinstance(translator, Translator):
        raise UsageError(f"{models[0]}: a language model, which has nothing to translate from; use regard generate")
    translator.keeper, translator.split = keeper_of(markup, keep), checked_split(split) or translator.split
    if alignments and not as_json and (n_best or 1) > 1:
        raise UsageError("--alignments: the links are those of the best translation; with --n-best, add --json")
    if alignments and translator.aligner is None:
        raise UsageError(f"{models[0]}: --alignments: the model has no attention over its source")
    search = chosen_strategy(
        strategy,
        beam,
        translator.strategy,
        n_best=n_best,
        length_penalty=length_penalty,
        min_length=min_length,
        max_length=max_length,
        no_repeat_ngram=no_repeat_ngram,
    )
    terms = None if glossary is None else checked_glossary(Glossary.read(glossary), translator.target)
    numbers: deque[int] = deque()
    blanks: deque[int] = deque()

    def lines() -> Iterator[str]:
        given = ["\n".join(pipe_lines())] if markup is Markup.html else pipe_lines()
        for number, text in enumerate(given, start=1):
            (numbers if text.strip() else blanks).append(number)  # blank lines do not reach the model
            yield text

    linked = alignments or (markup is Markup.html and translator.aligner is not None)

    def plainly(texts: list[str]) -> list[Translation]:
        starts = None if prefix is None else [prefix] * len(texts)
        return translator.translate(texts, strategy=search, prefixes=starts, alignments=linked, glossary=terms)

    several = n_best is not None and n_best > 1
    translated = keeping(markup, keep, plainly, prefix=prefix, alignments=alignments, n_best=several)

    def work(texts: list[str]) -> list[str]:
        written = []
        for one in translated(texts):
            number = numbers.popleft()
            for note in one.notes:
                typer.echo(f"regard: line {number}: {note.message}", err=True)
            written.append(_written(_linked(one, alignments), number, as_json, n_best))
        return written

    if sys.stdin.isatty():
        typer.echo("Type a line and press Enter; Ctrl-D ends.", err=True)

    def blank() -> str:
        if not as_json:
            return " ||| " if alignments else ""
        empty = {"line": blanks.popleft(), "text": "", "n_best": []}
        return json.dumps(empty | ({"alignment": []} if alignments else {}))

    ended = pump(lines(), sys.stdout, work, most=batch, blank=blank)
    if ended == "interrupted":
        raise KeyboardInterrupt


def _linked(one: Any, alignments: bool) -> Any:
    """The translation with links, none where those of a repaired sentence are not known."""
    from dataclasses import replace

    return replace(one, alignment=()) if alignments and one.alignment is None else one


def _tell(sentence: str) -> None:
    typer.echo(f"regard: {sentence}", err=True)


def _written(one: Any, line: int, as_json: bool, n_best: int | None) -> str:
    if as_json:
        options = [
            {"text": other.text, "score": round(other.rank, 4), "log_probability": round(other.score, 4)}
            for other in one.n_best
        ]
        found = {"line": line, "text": one.text, "n_best": options}
        aligned = {} if one.alignment is None else {"alignment": links_as_json(one.alignment)}
        return json.dumps(found | aligned, ensure_ascii=False)
    if one.alignment is not None:
        from regard.data.links import to_pharaoh

        return f"{one.text} ||| {to_pharaoh(one.alignment)}"
    if n_best is None or n_best == 1:
        return str(one.text)
    return "\n".join(f"{line} ||| {other.text} ||| {other.rank:.4f}" for other in one.n_best)
