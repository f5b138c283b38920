"""regard generate: continue texts with a language model, or write the answers of a model that reads and writes."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import DeviceOption, StrategyOption, ThreadsOption, chosen_strategy, examples, use_threads

app = typer.Typer(add_completion=False)

_AT_ONCE = 64


@app.command(
    epilog=examples(
        "regard generate runs/lm 'The game was'",
        "regard generate runs/lm '' --temperature 0.8 --top-p 0.95 --max-length 60 --seed 7",
        "regard generate runs/lm 'In 1912' --strategy greedy --stream",
        "regard generate runs/lm --json < prompts.txt",
        "regard generate qwen.safetensors --chat 'Why is the sky blue?' --stream",
        "regard generate t5.safetensors 'translate English to German: Two dogs play.'",
    )
)
def generate(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of a language model, or of T5.")],
    prompts: Annotated[
        list[str] | None, typer.Argument(help="The prompts; standard input, one a line, unless given.")
    ] = None,
    strategy: StrategyOption = None,
    temperature: Annotated[float | None, typer.Option(help="Sample, with logits divided by this.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample among so many of the likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample among the tokens that have this probability.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed draws other texts.")] = None,
    max_length: Annotated[int | None, typer.Option(min=1, help="The most tokens that are written.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print each word as soon as it is written.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print an object a prompt: text, tokens, score.")] = False,
    chat: Annotated[bool, typer.Option("--chat", help="Prompts are messages to the model's chat template.")] = False,
    system: Annotated[str | None, typer.Option(help="The system message of a chat.")] = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Continue each prompt with a language model and print the whole text; of a chat, print the answer.

    A model that reads a source, such as T5, reads the prompt and writes a text of its own.

    With n_best=3 in the strategy, three lines a prompt, the likeliest first: the prompt's number ||| the text ||| the
    log-probability of what was added, as translate --n-best prints them.
    """
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.loading import load

    if stream and as_json:
        raise UsageError("generate: --stream prints text as it comes, --json objects that are whole; give one of them")
    if system is not None and not chat:
        raise UsageError("generate: --system goes with --chat")
    opened = load(model, device=device)
    drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    search = _search(opened, strategy, drawn, max_length, str(model))
    texts = _prompts(opened, _given(prompts), chat, system, str(model))
    number = 0
    while part := list(islice(texts, 1 if stream else _AT_ONCE)):
        if stream:
            _aloud(opened, part[0], search, answer_alone=chat)
            continue
        for prompt, options in zip(part, _written(opened, part, search), strict=True):
            number += 1
            _print(number, prompt, options, as_json, chat)


def _search(opened: Any, strategy: str | None, drawn: dict[str, Any], max_length: int | None, where: str) -> Any:
    """The strategy of the options; settings of sampling ask for sampling."""
    from regard.base.errors import UsageError
    from regard.decoding.generator import Generator
    from regard.decoding.strategies.sample import Sample
    from regard.decoding.translator import Translator

    if not isinstance(opened, Generator | Translator):
        raise UsageError(f"{where}: a {type(opened).__name__.lower()}, which writes no texts; use regard predict")
    own = opened.strategy
    if strategy is None and any(value is not None for value in drawn.values()) and not isinstance(own, Sample):
        own = Sample(max_length=own.max_length or 100)
    return chosen_strategy(strategy, None, own, **drawn, max_length=max_length)


def _given(prompts: list[str] | None) -> Iterator[str]:
    return iter(prompts) if prompts else (line.rstrip("\n") for line in sys.stdin)


def _prompts(opened: Any, given: Iterable[str], chat: bool, system: str | None, where: str) -> Iterator[str]:
    """The prompts, through the chat template if asked."""
    from regard.base.errors import UsageError

    if not chat:
        return iter(given)
    template = getattr(opened, "chat", None)
    if template is None:
        raise UsageError(f"{where}: has no chat template; leave out --chat, and the prompt is continued as it is")
    before = [] if system is None else [{"role": "system", "content": system}]
    return (template.prompt([*before, {"role": "user", "content": text}]) for text in given)


def _written(opened: Any, prompts: list[str], search: Any) -> list[list[Any]]:
    """For each prompt what was written, the likeliest first."""
    from regard.decoding.generator import Generation, Generator

    if isinstance(opened, Generator):
        return opened.generate(prompts, search)
    found = opened.translate(prompts, strategy=search, split="line")
    return [[Generation(one.text, one.tokens, one.score) for one in own.n_best] for own in found]


def _aloud(opened: Any, prompt: str, search: Any, *, answer_alone: bool) -> None:
    from regard.decoding.streaming import write_aloud

    first = [answer_alone]  # of a chat, the prompt is not repeated

    def tell(text: str) -> None:
        if first and first.pop():
            return
        typer.echo(text, nl=False)
        sys.stdout.flush()

    write_aloud(opened, prompt, search, tell)
    typer.echo()


def _print(number: int, prompt: str, options: list[Any], as_json: bool, chat: bool) -> None:
    for one in options:
        text = one.written if chat else one.text
        if as_json:
            content = {"prompt": prompt, "text": text, "written": one.written, "score": one.score}
            typer.echo(json.dumps({**content, "tokens": list(one.tokens)}, ensure_ascii=False))
        else:
            typer.echo(f"{number} ||| {text} ||| {one.score:.4f}" if len(options) > 1 else text)
