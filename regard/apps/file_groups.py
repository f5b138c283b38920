"""Options that take one or two files: `--dev dev.en dev.de`, or `--dev dev.tsv`."""

from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand

GROUPS = ("--dev", "--test")


class FileGroups(TyperCommand):
    """A command whose options of GROUPS take the one or two words that follow them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Write `--dev a b` as the parser has it: `--dev a --dev b`."""
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
