"""Pictures in arrays: `.npz` and `.npy` files without pickle, and the idx files of MNIST.

A file is refused before it is unpacked if it would need too much memory.
"""

import gzip
import math
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float32, Int64, Shaped
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.room import available_memory

MOST_SIDE = 20_000
"""the most pixels of a picture's side"""
MOST_PIXELS = 64_000_000
"""the most pixels of a picture"""
SetPart = Literal["train", "dev", "test"]
IDX_NAME = re.compile(r"images[-.]idx3")
"""what the name of an idx file of pictures has in it"""
_PARTS = {"train": ("train",), "dev": ("dev", "valid", "val"), "test": ("test",)}
_PIXELS, _LABELS = ("pictures", "images", "x", "data"), ("labels", "y", "targets")


@dataclass(frozen=True)
class ImageSet:
    """Pictures and their labels as they were read; an example is a picture, its label and at times a question."""

    pixels: Shaped[Tensor, "pictures channels height width"]
    """uint8, or float32 between 0 and 1"""
    labels: tuple[str, ...]
    """one for each example; empty where there are none"""
    names: tuple[str, ...]
    """the file or number of each picture"""
    which: Int64[Tensor, "examples"]
    """the picture of each example"""
    questions: Float32[Tensor, "examples question"] | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        channels, height, width = self.pixels.shape[1:]
        return channels, height, width


def has_arrays(path: Path) -> bool:
    """Whether a file holds an array of pictures, judged by names alone."""
    if path.suffix == ".npz" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = {Path(name).stem for name in archive.namelist()}
        return _member(names, _PIXELS, "train") is not None and _member(names, _LABELS, "train") is not None
    return bool(IDX_NAME.search(path.name)) or (path.suffix == ".npy" and labels_beside(path).is_file())


def read_arrays(path: Path, part: SetPart) -> ImageSet:
    """The pictures of an `.npz`, `.npy` or idx file."""
    try:
        if IDX_NAME.search(path.name):
            beside = path.with_name(re.sub(r"images([-.])idx3", r"labels\1idx1", path.name))
            return _image_set(path, _idx(path), _idx(beside) if beside.is_file() else None)
        if path.suffix == ".npy":
            beside = labels_beside(path)
            return _image_set(path, _npy(path), _npy(beside) if beside.is_file() else None)
        if path.suffix == ".npz":
            return _npz(path, part)
    except (ValueError, OSError, zipfile.BadZipFile, KeyError, EOFError) as error:
        raise RegardError(f"{path}: not an array of pictures that can be read ({error})") from error
    raise RegardError(
        f"{path}: not pictures; give a folder with a folder of PNG or JPEG files for each class, "
        "an .npz or .npy file, or an idx file such as train-images-idx3-ubyte.gz"
    )


def _npy(path: Path) -> Any:
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    check_room(path, math.prod(shape) * dtype.itemsize)
    return np.load(path, allow_pickle=False)


def _npz(path: Path, part: SetPart) -> ImageSet:
    with zipfile.ZipFile(path) as archive:
        check_room(path, sum(member.file_size for member in archive.infolist()))
    with np.load(path, allow_pickle=False) as arrays:
        names = set(arrays.files)
        pixels, labels = (_member(names, kinds, part) for kinds in (_PIXELS, _LABELS))
        if pixels is None:
            listed = ", ".join(sorted(names)) or "none"
            raise RegardError(f"{path}: has no array 'pictures' or 'x_{part}'; its arrays are: {listed}")
        more = {name: arrays[name] for name in ("questions", "which") if name in names}
        return _image_set(path, arrays[pixels], None if labels is None else arrays[labels], **more)


def _member(names: set[str], kinds: Sequence[str], part: SetPart) -> str | None:
    wanted = [f"{kind}_{end}" for kind in kinds for end in _PARTS[part]] + list(kinds)
    return next((name for name in wanted if name in names), None)


def labels_beside(path: Path) -> Path:
    """The file of the labels of an `.npy` file."""
    return path.with_suffix(".labels.npy")


def _idx(path: Path) -> Any:
    """An array in the format of MNIST: 0, 0, 8 (unsigned byte), the number of axes, their sizes, the bytes."""
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        head = file.read(4)
        if len(head) < 4 or head[:3] != b"\0\0\x08":
            raise RegardError(f"{path}: not an idx file of bytes, as MNIST has them")
        shape = [int.from_bytes(file.read(4), "big") for _ in range(head[3])]
        check_room(path, math.prod(shape))
        content = file.read(math.prod(shape) + 1)
    if len(content) != math.prod(shape):
        raise RegardError(f"{path}: is cut short or too long: its head says {shape}, {math.prod(shape):,} bytes")
    return np.frombuffer(content, np.uint8).reshape(shape).copy()


def _image_set(path: Path, pixels: Any, labels: Any, questions: Any = None, which: Any = None) -> ImageSet:
    """Arrays as pictures, their shapes checked."""
    made = _channels_first(path, pixels)
    chosen = torch.arange(len(made)) if which is None else torch.from_numpy(np.asarray(which, np.int64))
    if chosen.numel() and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(made):
        raise RegardError(f"{path}: 'which' names picture {int(chosen.max())}, but there are {len(made):,}, from 0")
    for name, array in (("labels", labels), ("questions", questions)):
        if array is not None and len(array) != len(chosen):
            raise RegardError(f"{path}: there are {len(chosen):,} pictures to look at, but {len(array):,} {name}")
    if labels is not None and (labels.ndim != 1 or labels.dtype.kind not in "iuUSb"):
        raise RegardError(
            f"{path}: labels must be numbers or texts, one for each picture, not {labels.dtype} {labels.shape}"
        )
    asked = None if questions is None else torch.from_numpy(np.asarray(questions, np.float32))
    if asked is not None and (asked.ndim != 2 or not asked.isfinite().all()):
        raise RegardError(f"{path}: questions must be finite numbers, one row for each question")
    told = () if labels is None else tuple(map(str, labels.tolist()))
    return ImageSet(made, told, tuple(str(number) for number in range(len(made))), chosen, asked)


def _channels_first(path: Path, pixels: Any) -> Tensor:
    if pixels.ndim == 3:
        pixels = pixels[..., None]
    if pixels.ndim != 4 or 0 in pixels.shape:
        shape = list(pixels.shape)
        raise RegardError(
            f"{path}: pictures must be [count, height, width] or [count, height, width, channels], not {shape}"
        )
    if pixels.shape[-1] not in (1, 3) and pixels.shape[1] in (1, 3):
        pixels = pixels.transpose(0, 2, 3, 1)
    if pixels.shape[-1] not in (1, 3):
        raise RegardError(f"{path}: pictures have 1 or 3 channels, not {pixels.shape[-1]}")
    check_size(path, pixels.shape[2], pixels.shape[1])
    return torch.from_numpy(np.ascontiguousarray(_shades(path, pixels).transpose(0, 3, 1, 2)))


def _shades(path: Path, pixels: Any) -> Any:
    """The pixels as uint8, or as float32 between 0 and 1."""
    if pixels.dtype == np.uint8:
        return pixels
    if pixels.dtype == bool:
        return pixels.astype(np.uint8) * 255
    if pixels.dtype == np.uint16:
        return (pixels / 65535).astype(np.float32)
    low, high = float(pixels.min()), float(pixels.max())
    if pixels.dtype.kind == "f" and 0 <= low <= high <= 1:
        return pixels.astype(np.float32)
    if pixels.dtype.kind in "iu" and 0 <= low <= high <= 255:
        return pixels.astype(np.uint8)
    raise RegardError(
        f"{path}: pixels are {pixels.dtype} from {low:g} to {high:g}; "
        "whole numbers from 0 to 255, or numbers from 0 to 1, are right"
    )


def check_size(path: Path, width: int, height: int) -> None:
    """Raise an error if a picture is too large."""
    if max(width, height) > MOST_SIDE or width * height > MOST_PIXELS:
        raise RegardError(
            f"{path}: is {width:,} × {height:,} pixels; pictures may have {MOST_SIDE:,} on a side "
            f"and {MOST_PIXELS:,} in all at most"
        )


def check_room(path: Path, size: int) -> None:
    """Raise an error if so many bytes are more than half of the free memory."""
    if size > available_memory() // 2:
        raise RegardError(f"{path}: needs {size / 2**30:,.1f} GiB of memory, more than half of what is free")
