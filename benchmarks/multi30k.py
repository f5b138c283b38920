"""The real data of the benchmarks, Multi30k English → German: where it is, its batches, its test set."""

import gzip
from pathlib import Path

import numpy as np
from environments import ROOT

from regard.data.plan import BatchPosition
from regard.tasks.run import Run, read_run

RECIPE = ROOT / "recipes" / "multi30k.toml"
QUICK = ROOT / "recipes" / "multi30k-quick.toml"
DATA = ROOT.parent / "shared" / "data" / "multi30k"
LOWER = tuple(
    f'data.{part}=["{name}.lc.norm.tok.en.gz", "{name}.lc.norm.tok.de.gz"]'
    for part, name in (("train", "train"), ("dev", "val"))
)
"""the lower-cased, tokenized text instead of a recipe's own"""
SIZES = ("subwords.kind=bpe", "subwords.size=8000", "subwords.sharing=joint", "batches.tokens=4096")


def data_folder(given: Path | None) -> Path:
    """The folder with the set's files."""
    folder = (given or DATA).resolve()
    if not (folder / "train.lc.norm.tok.en.gz").exists():
        raise SystemExit(
            f"{folder}: Multi30k is not here (train.lc.norm.tok.en.gz and so on, as github.com/multi30k/dataset has "
            "them); put it there, or name its folder with --data"
        )
    return folder


def settings(*changes: str) -> Run:
    """The recipe with the sizes of the benchmark, and other changes."""
    return read_run(RECIPE, [*SIZES, *changes])


def batch_file(work: Path, data: Path, count: int) -> Path:
    """The first batches of the first epoch, as every contestant reads them."""
    path = work / f"multi30k-{count}.npz"
    if not path.exists():
        folder = work / "multi30k"
        folder.mkdir(parents=True, exist_ok=True)
        prepared = settings().task.prepare(folder, data)
        arrays = {"vocabulary": np.array(prepared.sizes["target"])}
        for at in range(count):
            batch = prepared.train.at(BatchPosition(index=at))
            for name in ("source", "source_lengths", "target_in", "target_out", "target_lengths"):
                arrays[f"{name}/{at}"] = getattr(batch, name).numpy()
        new = path.with_suffix(".new.npz")
        np.savez(new, **arrays)
        new.rename(path)
    return path


def write_texts(data: Path, folder: Path, form: str = "") -> Path:
    """train and val in plain text files for those who read no other, as they are written or in another form."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "val"):
        for side in ("en", "de"):
            text = "".join(f"{line}\n" for line in _lines(data / f"{part}{form}.{side}.gz"))
            (folder / f"{part}.{side}").write_text(text, encoding="utf-8")
    return folder


def test_set(data: Path, most: int) -> tuple[list[str], list[str]]:
    """Sources and references of test_2016_flickr."""
    return tuple(_lines(data / f"test_2016_flickr.lc.norm.tok.{side}.gz")[:most] for side in ("en", "de"))


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()
