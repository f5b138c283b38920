"""Progress bars and hints on standard error."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def say_next(hint: str) -> None:
    """On a terminal, say what can be done next."""
    if sys.stderr.isatty():
        sys.stderr.write(f"next: {hint}\n")


@contextmanager
def bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar, on a terminal alone; yields a function that advances it."""
    if not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(title, total=total)
        yield lambda count: shown.advance(task, count)
