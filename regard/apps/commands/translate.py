"""regard translate: translate lines or documents, from standard input or a file, to standard output or a file."""

import json
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.commands.align import links_as_json
from regard.apps.display import bar
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
from regard.apps.translated_files import (
    check_for_ranks,
    is_document,
    models_and_input,
    refuse_overwriting,
    refuse_with_document,
    sink,
    suggest_next,
    translate_document,
    write_together,
)

_SHOWN = 256
"""lines of a file between two steps of the progress bar"""

app = typer.Typer(add_completion=False)
_USUAL = {"precision": "float32", "shortlist": False, "engine": "auto", "threads": None}
_LONGEST_LINE = 1_000_000
_NOTED = 5
"""so many notes about lines are shown, and the others counted"""


@app.command(
    epilog=examples(
        "regard translate runs/en-de input.txt -o output.txt",
        "regard translate runs/en-de report.docx -o report.de.docx     also .md .html .srt .vtt .po",
        "regard translate runs/en-de < input.en > output.de",
        "echo 'Two dogs play.' | regard translate en-de.safetensors",
        "regard translate runs/a runs/b < input.en            an ensemble",
        "regard translate runs/en-de --beam 10 --n-best 3 --json < input.en",
        "regard translate --engine ctranslate2 runs/en-de < input.en    faster",
        "regard translate runs/en-de --alignments < input.en  translation ||| 0-0 1-2",
        "regard translate runs/en-de --glossary terms.tsv < input.en",
        "regard translate runs/en-de --markup html < page.en.html > page.de.html",
        "torchrun --nproc-per-node 4 -m regard translate runs/en-de input.txt -o output.txt",
    )
)
def translate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL... [INPUT]",
            help="Model files or run folders, several form an ensemble; then a file to translate, if not stdin.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file instead of standard output.")
    ] = None,
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
    alignments: Annotated[
        bool, typer.Option("--alignments", help="Also print word links, source-target; punctuation counts apart.")
    ] = False,
    glossary: GlossaryOption = None,
    markup: MarkupOption = None,
    keep: KeepOption = None,
    split: SplitOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line, with scores.")] = False,
    batch: Annotated[int, typer.Option(min=1, help="Maximum lines translated together.")] = 1024,
    precision: PrecisionOption = "float32",
    shortlist: ShortlistOption = False,
    engine: EngineOption = "auto",
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Translate the lines of a file or of standard input, in order, as they arrive; documents keep their markup."""
    use_threads(threads)
    from regard.base.allocator import keep_memory
    from regard.base.errors import UsageError
    from regard.base.files import read_lines
    from regard.base.world import own_rank, world_size
    from regard.decoding.glossary import Glossary, checked_glossary
    from regard.decoding.ready_translator import ReadyTranslator, open_ready
    from regard.decoding.stream import pipe_lines, pump, translate_stream
    from regard.decoding.translation import Translation
    from regard.markup.document import Keeping
    from regard.markup.placeholders import Kept

    models, given = models_and_input(paths)
    refuse_overwriting(out, [*models, given, glossary])
    document = given if is_document(given) else None
    if document is not None:
        refuse_with_document(document, json=as_json, n_best=n_best, alignments=alignments, prefix=prefix)
    speed: dict[str, Any] = {"precision": precision, "shortlist": shortlist, "engine": engine, "threads": threads}
    keep_memory()
    check_for_ranks(given, document, markup is Markup.html)
    opened = partial(_opened, models, device, **speed)
    asked = (strategy, beam, n_best, length_penalty, min_length, max_length, no_repeat_ngram, prefix, glossary)
    usual = speed == _USUAL and device == "cpu" and all(one is None for one in asked) and not alignments
    is_plain = usual and len(models) == 1 and markup is not Markup.html and document is None and world_size() == 1
    translator: Any = (open_ready(models[0], opened) if is_plain else None) or opened()
    translator.keeper = keeper_of(translator, markup, keep)
    translator.split = checked_split(split) or translator.split
    if alignments and not as_json and (n_best or 1) > 1:
        raise UsageError("--alignments: the links are those of the best translation; with --n-best, add --json")
    if alignments and translator.aligner is None:
        raise UsageError(f"{models[0]}: --alignments: the model has no attention over its source")
    search = None
    if not isinstance(translator, ReadyTranslator):
        lengths = {"length_penalty": length_penalty, "min_length": min_length, "max_length": max_length}
        others = {"n_best": n_best, "no_repeat_ngram": no_repeat_ngram}
        search = chosen_strategy(strategy, beam, translator.strategy, **lengths, **others)
    terms = None if glossary is None else checked_glossary(Glossary.read(glossary), translator.target)
    numbers: deque[int] = deque()
    blanks: deque[int] = deque()

    def lines() -> Iterator[str]:
        read = pipe_lines() if given is None else iter(whole)
        numbered = enumerate(["\n".join(read)] if markup is Markup.html else read, start=1)
        for number, text in islice(numbered, own_rank(), None, world_size()):
            if len(text) > _LONGEST_LINE and markup is not Markup.html:
                raise UsageError(
                    f"line {number}: has {len(text):,} characters, but a line may have {_LONGEST_LINE:,}; "
                    "break the text into lines"
                )
            (numbers if text.strip() else blanks).append(number)  # blank lines do not reach the model
            yield text

    if document is not None:
        kept = translator.keeper.kept if isinstance(translator.keeper, Keeping) else Kept(())
        plain = partial(translator.translate, strategy=search, glossary=terms)
        translate_document(document, out, plain, partial(plain, alignments=translator.aligner is not None), kept)
        suggest_next(out, models[0])
        return
    whole = [] if given is None else list(read_lines(given, allow_empty=True))
    linked = alignments or (markup is Markup.html and translator.aligner is not None)

    def plainly(texts: list[str]) -> list[Translation]:
        starts = None if prefix is None else [prefix] * len(texts)
        return translator.translate(texts, strategy=search, prefixes=starts, alignments=linked, glossary=terms)

    several = n_best is not None and n_best > 1
    translated = keeping(markup, translator.keeper, plainly, prefix=prefix, alignments=alignments, n_best=several)

    notes = _Notes()

    def work(texts: list[str]) -> list[str]:
        written = []
        for text, one in zip(texts, translated(texts), strict=True):
            number = numbers.popleft()
            for note in one.notes:
                notes.add(number, note.message)
            written.append(_written(text, _linked(one, alignments), number, as_json, n_best))
        advance(len(texts))
        return written

    if given is None and sys.stdin.isatty():
        typer.echo("Type a line and press Enter; Ctrl-D ends.", err=True)

    def blank() -> str:
        if not as_json:
            return " ||| " if alignments else ""
        empty = {"line": blanks.popleft(), "text": "", "n_best": []}
        return json.dumps(empty | ({"alignment": []} if alignments else {}))

    count = sum(bool(line.strip()) for line in whole) if given else 0
    shown = bar("translating", count) if given and not own_rank() else nullcontext(bool)
    if world_size() > 1:
        from regard.base.joining import joined_ranks

        with joined_ranks(device) as ranks, nullcontext() if own_rank() else sink(out) as place, shown as advance:
            write_together(ranks, lines(), place, partial(translate_stream, translate_batch=work, blank=blank))
        notes.end()
        return
    with sink(out) as target, shown as advance:
        if pump(lines(), target, work, most=min(batch, _SHOWN) if given else batch, blank=blank) == "interrupted":
            raise KeyboardInterrupt
    notes.end()
    if is_plain and split is None and not isinstance(translator, ReadyTranslator):
        from regard.decoding.readying import make_ready

        make_ready(models[0], translator)
    suggest_next(out, models[0])


def _opened(models: list[Path], device: str, **speed: Any) -> Any:
    """The translator of a model, or of an ensemble."""
    from regard.base.errors import UsageError
    from regard.base.joining import own_device
    from regard.decoding.translator import Translator
    from regard.loading import load

    translator = load(models, device=own_device(device), tell=_tell, **speed)
    if not isinstance(translator, Translator):
        raise UsageError(f"{models[0]}: a language model, which has nothing to translate from; use regard generate")
    return translator


class _Notes:
    """Tells the first notes about lines, and at the end how many more there were: a poor model has one for each."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, line: int, message: str) -> None:
        self._count += 1
        if self._count <= _NOTED:
            _tell(f"line {line}: {message}")

    def end(self) -> None:
        if self._count > _NOTED:
            _tell(f"{self._count - _NOTED:,} more notes of this kind are not shown")


def _linked(one: Any, alignments: bool) -> Any:
    """The translation with links, none where those of a repaired sentence are not known."""
    from dataclasses import replace

    return replace(one, alignment=()) if alignments and one.alignment is None else one


def _tell(sentence: str) -> None:
    typer.echo(f"regard: {sentence}", err=True)


def _written(source: str, one: Any, line: int, as_json: bool, n_best: int | None) -> str:
    if as_json:
        options = [
            {"text": other.text, "score": round(other.rank, 4), "log_probability": round(other.score, 4)}
            for other in one.n_best
        ]
        found = {"line": line, "text": one.text, "n_best": options}
        aligned: dict[str, Any] = {} if one.alignment is None else {"alignment": links_as_json(one.alignment)}
        if aligned:
            from regard.data.word_spans import words_of

            aligned |= {"source_words": words_of(source), "target_words": words_of(one.text)}
        return json.dumps(found | aligned, ensure_ascii=False)
    if one.alignment is not None:
        from regard.data.links import to_pharaoh

        return f"{one.text} ||| {to_pharaoh(one.alignment)}"
    if n_best is None or n_best == 1:
        return str(one.text)
    return "\n".join(f"{line} ||| {other.text} ||| {other.rank:.4f}" for other in one.n_best)
