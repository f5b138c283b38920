"""The options with which translate keeps markup, and what they do."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer


class Markup(StrEnum):
    """What is in the text besides words."""

    html = "html"
    placeholders = "placeholders"


MarkupOption = Annotated[
    Markup | None,
    typer.Option(
        "--markup", help="Keep tags of an HTML document, or {name}, %s, addresses in lines, where they belong."
    ),
]
KeepOption = Annotated[
    str | None,
    typer.Option("--keep", help="With --markup, what is kept: url,email,braces,percent unless set; or number too."),
]
_Translate = Callable[[list[str]], Sequence[Any]]


def keeping(markup: Markup | None, keep: str | None, translate: _Translate, **others: Any) -> _Translate:
    """The same translating with markup kept; HTML is a document for each text. `others` are options that do not fit."""
    from regard.base.errors import UsageError
    from regard.decoding.translator import Translation
    from regard.markup.document import translate_pages, translate_texts
    from regard.markup.placeholders import ALWAYS, Kept

    if markup is None:
        if keep is not None:
            raise UsageError("--keep: give --markup html or --markup placeholders with it")
        return translate
    for name, value in others.items():
        if value:
            raise UsageError(f"--{name.replace('_', '-')}: cannot be given with --markup {markup.value}")
    kept = Kept(ALWAYS if keep is None else tuple(kind.strip() for kind in keep.split(",") if kind.strip()))
    if markup is Markup.html:
        return lambda pages: [Translation(page, 0.0, ()) for page in translate_pages(translate, pages, kept)]
    return lambda texts: [replace(one, alignment=None) for one in translate_texts(translate, texts, kept)]
