"""What a file's name tells of its language."""

from pathlib import Path


def language_of(file: Path) -> str | None:
    """`train.de`, `train.lc.de.gz` and `corpus.de.txt` are German; None where the name does not say."""
    parts = [part for part in file.name.split(".")[1:] if part not in ("gz", "txt", "text", "tok", "tsv", "jsonl")]
    last = parts[-1] if parts else ""
    code, _, region = last.replace("-", "_").partition("_")
    plausible = 2 <= len(code) <= 3 and code.isalpha() and (not region or region.isalnum())
    return last if plausible else None
