"""regard export: write a model for CTranslate2, ONNX or Hugging Face transformers."""

from pathlib import Path
from typing import Annotated

import typer

from regard.apps.display import say_next
from regard.apps.options import examples

app = typer.Typer(add_completion=False)

PROGRAMS = ("ctranslate2", "onnx", "huggingface", "sentence-transformers")


@app.command(
    epilog=examples(
        "regard export runs/en-de --to ctranslate2 --out en-de.ct2",
        "regard export runs/en-de --to ctranslate2 --quantize int8 --out en-de.ct2",
        "regard export en-de.safetensors --to onnx --out en-de-onnx",
        "regard export runs/reviews --to huggingface --out reviews-hf",
        "regard export minilm.safetensors --to sentence-transformers --out minilm",
        "regard translate --engine ctranslate2 en-de.ct2 < input.en",
    )
)
def export(
    model: Annotated[Path, typer.Argument(help="A model file or run folder.")],
    to: Annotated[str, typer.Option(help=f"The format: {', '.join(PROGRAMS[:-1])} or {PROGRAMS[-1]}.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    quantize: Annotated[
        str | None, typer.Option(help="Quantization of the weights: float32, int8, int16, float16 …")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing export.")] = False,
) -> None:
    """Export a model to a folder that another program can run, with its tokenizers and settings."""
    from regard.base.errors import UsageError, check_one_of

    check_one_of("export", PROGRAMS, to=to)
    if to != "ctranslate2" and quantize is not None:
        raise UsageError("--quantize: goes with --to ctranslate2 alone")
    if to in ("huggingface", "sentence-transformers"):
        from regard.interop.huggingface import export_huggingface

        export_huggingface(model, out, force=force, task="embed" if to == "sentence-transformers" else None)
    elif to == "onnx":
        from regard.interop.onnx_export import export_onnx

        export_onnx(model, out, force=force)
    else:
        from regard.interop.ctranslate2_export import export_ctranslate2

        export_ctranslate2(model, out, quantize or "float32", force=force)
    size = sum(file.stat().st_size for file in out.iterdir())
    typer.echo(f"wrote {out}, {size / 2**20:.1f} MiB for {to}")
    if to == "ctranslate2":
        say_next(f"regard translate {model} --engine ctranslate2 < input.txt, or any program that takes {out}")
