"""The options that translate, evaluate and generate share: how to decode, on what, with how many threads."""

import dataclasses
from typing import Annotated, Any

import typer

BeamOption = Annotated[int | None, typer.Option("--beam", min=1, help="Beam size; 1 is greedy.")]
StrategyOption = Annotated[
    str | None, typer.Option("--strategy", help="Any other search, such as 'sample(temperature=0.8, top_k=20)'.")
]


def _usable(device: str) -> str:
    """The same device, if it is there."""
    if device != "cpu":
        import torch

        from regard.base.errors import UsageError

        try:
            torch.empty(1, device=device).item()
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"--device {device}: cannot be used: {str(error).partition(chr(10))[0]}") from error
    return device


DeviceOption = Annotated[str, typer.Option("--device", callback=_usable, help="Where to compute: cpu, cuda, cuda:1 …")]
EngineOption = Annotated[str, typer.Option("--engine", help="What computes: torch, or ctranslate2, which is faster.")]
PrecisionOption = Annotated[str, typer.Option("--precision", help="Of products with large matrices: float32 or int8.")]
ShortlistOption = Annotated[bool, typer.Option("--shortlist", help="Score likely words alone; see regard shortlist.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="Processor threads; all cores unless set.")]


def chosen_strategy(strategy: str | None, beam: int | None, default: Any, **changes: Any) -> Any:
    """The strategy that the options ask for: their own, or the model's with some settings changed."""
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
    """Compute with so many threads."""
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
