import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from regard.base.errors import RegardError
from regard.data.image_files import Shape, as_pixels, by_class, looks_like_images, open_picture, read_images, shape_of

RED = np.zeros((4, 6, 3), np.uint8)
RED[..., 0] = 200


def saved(path: Path, pixels: np.ndarray, mode: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).convert(mode).save(path) if mode else Image.fromarray(pixels).save(path)
    return path


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    saved(tmp_path / "red" / "1.png", RED)
    saved(tmp_path / "dark" / "deep" / "2.PNG", RED // 4)
    saved(tmp_path / "dark" / "3.jpg", RED // 4)
    (tmp_path / "dark" / "notes.txt").write_text("no picture", encoding="utf-8")
    assert looks_like_images(tmp_path)
    assert [label for _, label in by_class(tmp_path)] == ["dark", "dark", "red"]
    found = read_images(tmp_path)
    assert found.labels == ("dark", "dark", "red")
    assert found.shape == (3, 4, 6)
    assert found.pixels[2, 0].unique().tolist() == [200]


def test_pictures_are_cut_in_the_middle_and_scaled(tmp_path: Path) -> None:
    wide = np.concatenate([np.zeros((8, 8), np.uint8), np.full((8, 8), 255, np.uint8), np.zeros((8, 8), np.uint8)], 1)
    picture = open_picture(saved(tmp_path / "a.png", wide))
    assert as_pixels(picture, Shape(1, 4, 4)).float().mean() > 230
    assert as_pixels(picture, Shape(1, 8, 24)).unique().tolist() == [0, 255]


@pytest.mark.parametrize(
    ("mode", "channels", "bright"), [("L", 1, 200), ("RGB", 3, 200), ("P", 3, 200), ("CMYK", 3, 200)]
)
def test_modes(mode: str, channels: int, bright: int, tmp_path: Path) -> None:
    path = saved(tmp_path / ("a.jpg" if mode == "CMYK" else "a.png"), np.full((4, 4, 3), 200, np.uint8), mode)
    picture = open_picture(path)
    assert shape_of(picture).channels == channels
    assert abs(int(as_pixels(picture, Shape(1, 4, 4)).float().mean()) - bright) <= 4


def test_sixteen_bits_and_clear_pixels(tmp_path: Path) -> None:
    Image.fromarray(np.full((2, 2), 257 * 100, np.uint16)).save(tmp_path / "deep.png")
    assert as_pixels(open_picture(tmp_path / "deep.png"), Shape(1)).unique().tolist() == [100]
    Image.fromarray(np.zeros((2, 2, 4), np.uint8)).save(tmp_path / "clear.png")
    assert as_pixels(open_picture(tmp_path / "clear.png"), Shape(3)).unique().tolist() == [255]


def test_a_turned_photograph_stands_upright(tmp_path: Path) -> None:
    made = Image.fromarray(RED)
    exif = made.getexif()
    exif[0x0112] = 6
    made.save(tmp_path / "a.jpg", exif=exif)
    assert open_picture(tmp_path / "a.jpg").size == (4, 6)


def header_of(width: int, height: int) -> bytes:
    """A PNG that says it is this large, and holds nothing."""
    head = b"IHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 0, 0, 0, 0])
    ends = [zlib.crc32(part).to_bytes(4, "big") for part in (head, b"IDAT")]
    return b"\x89PNG\r\n\x1a\n\0\0\0\r" + head + ends[0] + b"\0\0\0\0IDAT" + ends[1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (header_of(50_000, 10), "is 50,000 × 10 pixels; pictures may have 20,000 on a side and 64,000,000 in all"),
        (header_of(15_000, 15_000), "a.png: is "),
        (header_of(2**31 - 1, 2**31 - 1), "a.png: is "),
        (header_of(10, 10), "not a picture that can be read"),
        (b"hello", "not a picture that can be read; PNG and JPEG files can"),
        (b"", "not a picture that can be read"),
        (b"GIF89a\x01\x00\x01\x00\x00\x00\x00;", "not a picture that can be read"),
    ],
    ids=["wide", "large", "huge", "empty", "text", "nothing", "gif"],
)
def test_what_is_no_picture_is_one_sentence(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(RegardError, match=sentence) as raised:
        read_images(tmp_path / "a.png")
    assert "\n" not in str(raised.value)


def test_a_cut_picture_is_one_sentence(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    whole = saved(tmp_path / "a.png", noise).read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RegardError, match=r"a\.png: not a picture that can be read"):
        read_images(tmp_path / "a.png")


def test_missing_and_empty_places(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="there is no such file or folder"):
        read_images(tmp_path / "nowhere")
    with pytest.raises(RegardError, match="holds no pictures; PNG and JPEG files in a folder for each class"):
        read_images(tmp_path)
    assert not looks_like_images(tmp_path)


def test_arrays_of_another_size_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", pictures=np.zeros((1, 5, 5), np.uint8), labels=[0])
    with pytest.raises(RegardError, match="its pictures have height 5, but 8 is needed"):
        read_images(tmp_path / "a.npz", Shape(1, 8, 8))
    assert torch.equal(read_images(tmp_path / "a.npz").which, torch.tensor([0]))
