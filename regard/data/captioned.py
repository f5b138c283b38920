"""Pictures with captions: from files, or from a source without a download.

| file | what is read |
|---|---|
| `.tsv` | the name of a PNG or JPEG file and its caption, split at a tab; names start at the file's folder |
| `.npz` | `pictures` [count, height, width] or with channels, and `captions`, as many texts; nothing pickled |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import read_lines
from regard.data.framed import FramedTexts
from regard.data.image_files import PICTURE_ENDINGS, Shape, as_pixels, open_picture, shape_of
from regard.data.number_rows import RowSource


@dataclass(frozen=True)
class CaptionSet:
    """Pictures, each with its caption."""

    pixels: Shaped[Tensor, "pictures channels height width"]
    """uint8, or float32 between 0 and 1"""
    captions: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.pixels) != len(self.captions):
            raise RegardError(f"there are {len(self.pixels):,} pictures, but {len(self.captions):,} captions")

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.captions)

    def pick(self, rows: Sequence[int]) -> "CaptionSet":
        """Some of the pictures."""
        return CaptionSet(self.pixels[list(rows)], tuple(self.captions[at] for at in rows))

    def parts(self, share: float, seed: int) -> tuple["CaptionSet", "CaptionSet"]:
        """Pictures to learn from, and a share to validate on."""
        order = np.random.default_rng([seed, 9]).permutation(len(self))
        held = max(1, round(share * len(self)))
        return self.pick(np.sort(order[held:]).tolist()), self.pick(np.sort(order[:held]).tolist())


@dataclass(frozen=True)
class CaptionBatch:
    """Pictures and their captions; each caption is to be found among all of the batch, and each picture."""

    pictures: Float[Tensor, "batch channels height width"]
    texts: FramedTexts

    @property
    def count(self) -> int:
        """The number of pairs."""
        return len(self.pictures)

    @property
    def size(self) -> int:
        """The number of pairs; none of them is padding."""
        return len(self.pictures)

    @property
    def same(self) -> Bool[Tensor, "batch batch"]:
        """Which other pairs have the same caption, so that they cannot be told apart."""
        tokens: Int64[Tensor, "batch length"] = self.texts.tokens
        alike = (tokens[:, None] == tokens[None]).all(-1)
        return alike & ~torch.eye(len(tokens), dtype=torch.bool, device=tokens.device)

    def to(self, device: torch.device | str) -> "CaptionBatch":
        """The same batch on another device."""
        return CaptionBatch(self.pictures.to(device), self.texts.to(device))

    def shares(self, count: int) -> list["CaptionBatch"]:
        """A batch cannot be split: every picture is compared with every caption."""
        return [self]


def captions_from(source: RowSource, where: str) -> CaptionSet:
    """The pictures of a source that tells their captions."""
    rows, captions = source.rows(), source.captions()
    if not captions:
        raise RegardError(f"{where}: {type(source).__name__.lower()} has no captions; sprites has")
    height, width = rows.shape
    return CaptionSet(torch.from_numpy(rows.inputs).reshape(-1, 1, height, width), captions)


def looks_captioned(path: Path) -> bool:
    """Whether a file is a table of picture files and captions, judged by its first line."""
    if path.suffix != ".tsv" or not path.is_file():
        return False
    first = next((line for line in read_lines(path) if line.strip()), "")
    return first.partition("\t")[0].strip().lower().endswith(PICTURE_ENDINGS)


def read_captions(path: Path, shape: Shape | None = None) -> CaptionSet:
    """The pictures and captions of a file; picture files are brought to the shape."""
    if not path.exists():
        raise RegardError(f"{path}: there is no such file")
    try:
        return _arrays(path) if path.suffix == ".npz" else _table(path, shape or Shape())
    except RegardError as error:
        raise error if str(error).startswith(str(path)) else RegardError(f"{path}: {error}") from error


def _arrays(path: Path) -> CaptionSet:
    try:
        with np.load(path, allow_pickle=False) as stored:
            pictures, captions = stored["pictures"], stored["captions"]
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise RegardError(f"{path}: must hold the arrays pictures and captions ({error})") from error
    if pictures.ndim not in (3, 4) or captions.ndim != 1:
        raise RegardError(
            f"{path}: pictures must be [count, height, width] or [count, channels, height, width], and captions [count]"
        )
    pixels = torch.from_numpy(pictures if pictures.dtype == np.uint8 else pictures.astype(np.float32))
    return CaptionSet(pixels if pixels.dim() == 4 else pixels[:, None], tuple(map(str, captions)))


def _table(path: Path, shape: Shape) -> CaptionSet:
    pixels, captions = [], []
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        name, _, caption = line.partition("\t")
        if not caption.strip():
            raise RegardError(f"{path}, line {number}: must be the name of a picture and its caption, split at a tab")
        picture = open_picture(path.parent / name.strip())
        if None in (shape.channels, shape.height, shape.width):
            own = shape_of(picture)
            shape = Shape(shape.channels or own.channels, shape.height or own.height, shape.width or own.width)
        pixels.append(as_pixels(picture, shape))
        captions.append(caption.strip())
    if not captions:
        raise RegardError(f"{path}: there are no captions")
    return CaptionSet(torch.stack(pixels), tuple(captions))
