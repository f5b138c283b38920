"""regard generate: continue texts with a language model."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.options import DeviceOption, StrategyOption, ThreadsOption, chosen_strategy, examples, use_threads

app = typer.Typer(add_completion=False)


@app.command(
    epilog=examples(
        "regard generate runs/lm 'The game was'",
        "regard generate runs/lm '' --strategy 'sample(temperature=0.8, top_p=0.95, max_length=60, seed=7)'",
        "regard generate runs/lm 'In 1912' --strategy greedy",
        "regard generate runs/lm 'In 1912' --strategy 'sample(n_best=3)'",
    )
)
def generate(
    model: Annotated[Path, typer.Argument(help="A model file or run folder of a language model.")],
    prompts: Annotated[list[str], typer.Argument(help="The prompts: how the texts begin.")],
    strategy: StrategyOption = None,
    device: DeviceOption = "cpu",
    threads: ThreadsOption = None,
) -> None:
    """Continue each prompt with a language model and print the whole text.

    With n_best=3 in the strategy, three lines a prompt, the likeliest first: the prompt's number ||| the text ||| the
    log-probability of what was added, as translate --n-best prints them.
    """
    use_threads(threads)
    from regard.base.errors import UsageError
    from regard.decoding.generator import Generator
    from regard.loading import load

    generator = load(model, device=device)
    if not isinstance(generator, Generator):
        raise UsageError(f"{model}: a translation model; use regard translate")
    search = chosen_strategy(strategy, None, generator.strategy)
    several = getattr(search, "n_best", 1) > 1
    for number, options in enumerate(generator.generate(prompts, search), start=1):
        for one in options:
            typer.echo(f"{number} ||| {one.text} ||| {one.score:.4f}" if several else one.text)
