"""regard audit: whether an attention, anybody's, keeps the laws."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.apps.options import ThreadsOption, examples, use_threads

app = typer.Typer(add_completion=False)


@app.command(
    "audit",
    epilog=examples(
        "regard audit torch.nn.functional:scaled_dot_product_attention",
        "regard audit 'torch.nn:MultiheadAttention(16, 4, batch_first=True)' --json audit.json --badge audit.svg",
        "regard audit ./mine.py:attend --law forbidden --law blindness",
        "regard audit 'regard:Attention(heads=4, mask=\"causal\")'",
    ),
)
def audit_command(
    target: Annotated[
        str,
        typer.Argument(
            help="package.module:name, with arguments if it is a class; file.py:name; a Hugging Face folder."
        ),
    ],
    law: Annotated[list[str] | None, typer.Option(help="Only this law; may be given several times.")] = None,
    width: Annotated[
        int | None, typer.Option(min=1, help="The width of a module's inputs, if it does not say.")
    ] = None,
    causal: Annotated[bool, typer.Option("--causal", help="It claims to be causal by itself.")] = False,
    tries: Annotated[int, typer.Option("--examples", min=1, help="How many examples to try for each law.")] = 40,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Also write the verdicts.")] = None,
    badge: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a badge (SVG).")] = None,
    threads: ThreadsOption = None,
) -> None:
    """Try the laws of attention on anybody's attention: holds, breaks (with the smallest example), does not apply.

    Exits with 1 if a law is broken. A function is called with query, key, value [batch, heads, positions, width] and a
    mask that is True where a query may look; a module with x [batch, positions, width] and such a mask.
    """
    use_threads(threads)
    from regard.apps.display import bar
    from regard.audit.auditing import audit
    from regard.audit.law import LAWS
    from regard.audit.targets import target_of
    from regard.base.files import write_text

    claims: dict[str, Any] = {"causal": True} if causal else {}
    found, wanted = target_of(target), law or list(LAWS)
    with bar("trying the laws", len(wanted)) as advance:
        report = audit(found, laws=wanted, width=width, examples=tries, say=lambda _: advance(1), **claims)
    typer.echo(str(report))
    for path, text in ((json_file, report.to_json()), (badge, report.badge())):
        if path is not None:
            write_text(path, text)
            typer.echo(f"wrote {path}", err=True)
    if not report.is_sound:
        raise typer.Exit(1)
