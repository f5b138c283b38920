"""Pictures as people keep them: a folder of PNG and JPEG files for each class, arrays, or MNIST's idx files.

    animals/cat/1.png, animals/dog/2.jpg     the name of a folder is the class of its pictures
    pictures.npz                             `pictures` [count, height, width] (or with channels), `labels`;
                                             or `x_train`, `y_train`, `x_test`, `y_test`
    pictures.npy, pictures.labels.npy        the same in two files
    train-images-idx3-ubyte.gz               with train-labels-idx1-ubyte.gz beside it

Nothing pickled is read. A file is refused before it is unpacked if it would need too much memory.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.extras import install_hint
from regard.data.image_arrays import MOST_PIXELS, ImageSet, SetPart, check_room, check_size, has_arrays, read_arrays

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg")


@dataclass(frozen=True)
class Shape:
    """The shape to which picture files are brought; what is None is told by the first picture."""

    channels: int | None = None
    height: int | None = None
    width: int | None = None


def looks_like_images(path: Path) -> bool:
    """Whether the path holds pictures with classes, judged by names alone."""
    if path.is_dir():
        return next(_by_class(path), None) is not None
    return has_arrays(path)


def read_images(path: Path, shape: Shape | None = None, part: SetPart = "train") -> ImageSet:
    """The pictures of a folder or file with their labels; of arrays for several parts, those of `part`."""
    if not path.exists():
        raise RegardError(f"{path}: there is no such file or folder")
    if path.is_dir():
        return _folder(path, shape or Shape())
    if path.suffix.lower() in PICTURE_ENDINGS:
        return _files([path], (), shape or Shape())
    found = read_arrays(path, part)
    wanted = shape or Shape()
    for name, need, have in zip(
        ("channels", "height", "width"), (wanted.channels, wanted.height, wanted.width), found.shape, strict=True
    ):
        if need not in (None, have):
            raise RegardError(f"{path}: its pictures have {name} {have}, but {need} is needed")
    return found


def picture_in(content: bytes, shape: Shape, name: str = "picture") -> ImageSet:
    """One picture as the bytes of a PNG or JPEG file, in the given shape."""
    found = shape_of(picture := _unpacked(BytesIO(content), Path(name)))
    wanted = Shape(shape.channels or found.channels, shape.height or found.height, shape.width or found.width)
    return ImageSet(as_pixels(picture, wanted)[None], (), (name,), torch.arange(1))


def open_picture(path: Path) -> Any:
    """A picture file, upright and checked, as Pillow has it; nothing too large is unpacked."""
    if not path.is_file():
        raise RegardError(f"{path}: there is no such file")
    return _unpacked(path, path)


def _unpacked(content: Path | BytesIO, path: Path) -> Any:
    try:
        from PIL import Image, ImageOps
    except ModuleNotFoundError as error:
        raise RegardError(f"{path}: reading pictures needs Pillow: {install_hint('pictures')}") from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is too large is refused below
            with Image.open(content, formats=("PNG", "JPEG")) as picture:
                check_size(path, *picture.size)
                return ImageOps.exif_transpose(picture)
    except Image.DecompressionBombError as error:
        raise RegardError(f"{path}: is larger than {MOST_PIXELS:,} pixels, the most that are read") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise RegardError(f"{path}: not a picture that can be read; PNG and JPEG files can ({error})") from error


def as_pixels(picture: Any, shape: Shape) -> Shaped[Tensor, "channels height width"]:
    """The pixels of a picture, cut to the shape's proportions around its middle, then scaled; clear ones are white."""
    from PIL import Image, ImageOps

    if picture.mode.startswith("I"):  # 16 bits
        picture = Image.fromarray((np.asarray(picture).clip(0, 65535) // 257).astype(np.uint8))
    if "A" in picture.getbands() or "transparency" in picture.info:
        clear = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    picture = picture.convert("L" if shape.channels == 1 else "RGB")
    size = (shape.width or picture.width, shape.height or picture.height)
    if picture.size != size:
        picture = ImageOps.fit(picture, size, Image.Resampling.BILINEAR)
    return torch.from_numpy(np.array(picture, copy=True)).reshape(size[1], size[0], -1).permute(2, 0, 1).contiguous()


def shape_of(picture: Any) -> Shape:
    """The shape of a picture: one channel if it is gray."""
    return Shape(
        1 if picture.mode in ("1", "L", "LA") or picture.mode.startswith("I") else 3, picture.height, picture.width
    )


def by_class(folder: Path) -> list[tuple[Path, str]]:
    """The picture files below a folder, each with its class, in order."""
    return sorted(_by_class(folder))


def _by_class(folder: Path) -> Iterator[tuple[Path, str]]:
    for below in folder.iterdir():
        if below.is_dir() and not below.name.startswith("."):
            for file in below.rglob("*"):
                if file.suffix.lower() in PICTURE_ENDINGS and file.is_file():
                    yield file, below.name


def _folder(folder: Path, shape: Shape) -> ImageSet:
    found = by_class(folder)
    if found:
        files, labels = zip(*found, strict=True)
        return _files(files, labels, shape)
    flat = sorted(file for file in folder.iterdir() if file.suffix.lower() in PICTURE_ENDINGS)
    if not flat:
        raise RegardError(f"{folder}: holds no pictures; PNG and JPEG files in a folder for each class are expected")
    return _files(flat, (), shape)


def _files(files: Sequence[Path], labels: Sequence[str], shape: Shape) -> ImageSet:
    if None in (shape.channels, shape.height, shape.width):
        first = shape_of(open_picture(files[0]))
        shape = Shape(shape.channels or first.channels, shape.height or first.height, shape.width or first.width)
    check_room(files[0].parent, len(files) * (shape.channels or 1) * (shape.height or 1) * (shape.width or 1))
    pixels = torch.stack([as_pixels(open_picture(file), shape) for file in files])
    return ImageSet(pixels, tuple(labels), tuple(map(str, files)), torch.arange(len(files)))
