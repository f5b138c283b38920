"""Tensors and texts in one safetensors file: written atomically, with a checksum, equal bytes for equal content.

The format is eight bytes with the header's length, the header as JSON, then the tensors' bytes. It is written here
rather than by the library because the library orders the texts at random and builds the whole file in memory first.
"""

import hashlib
import json
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import replacing, unreadable

CHECKSUM = "checksum"
_SHA256 = re.compile("[0-9a-f]{64}")
_ALIGNMENT = 8
_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


class DamagedError(RegardError):
    """A file is damaged: its bytes are not those that were written."""


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> None:
    """Write tensors and texts as one file with a checksum; on failure the old file stays."""
    # Wide elements first, so that every tensor begins at a multiple of its element's size.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    local = {name: tensors[name].detach().to("cpu").contiguous() for name in names}
    header: dict[str, Any] = {"__metadata__": {**texts, CHECKSUM: _checksum(local, texts)}}
    end = 0
    for name, tensor in local.items():
        start, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [start, end]}
    written = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    written += b" " * (-len(written) % _ALIGNMENT)
    with replacing(path) as file:
        file.write(struct.pack("<Q", len(written)) + written)
        for tensor in local.values():
            file.write(_bytes(tensor))


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read what `write_tensors` wrote, and verify the checksum.

    A file without one is read as it is: another program wrote it, which changed the tensors on purpose.
    """
    with _opened(path) as file:
        texts = dict(file.metadata() or {})
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no mapping
    expected = texts.pop(CHECKSUM, None)
    misspelled = expected is None and any(_SHA256.fullmatch(text) for text in texts.values())  # its name was damaged
    if misspelled or (expected is not None and expected != _checksum(tensors, texts)):
        raise DamagedError(
            f"{path}: the file is damaged: its content does not match its checksum; if another program changed it on "
            f"purpose, leave '{CHECKSUM}' out of the metadata there"
        )
    return tensors, texts


def read_texts(path: str | Path) -> dict[str, str]:
    """Read the texts alone, without the tensors."""
    with _opened(path) as file:
        texts = dict(file.metadata() or {})
    texts.pop(CHECKSUM, None)
    return texts


def _opened(path: str | Path) -> Any:
    try:
        if Path(path).stat().st_size == 0:
            raise DamagedError(f"{path}: the file is empty")
        return safe_open(path, framework="pt")
    except SafetensorError as error:
        raise DamagedError(f"{path}: not a whole safetensors file ({_suspicion(path) or error})") from error
    except OSError as error:
        raise unreadable(path, error) from error


def _suspicion(path: str | Path) -> str:
    """What a file is taken for that does not even begin as one of tensors does, with a length and a brace."""
    with Path(path).open("rb") as file:
        begins = file.read(9)[8:] == b"{"
    return "" if begins else "it is of another kind; a model is a model.safetensors, or the folder of a run"


def _checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    total = hashlib.sha256()
    for part in _content(tensors, texts):
        total.update(part)
    return total.hexdigest()


def _content(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> Iterator[bytes | memoryview]:
    shapes = {name: [_NAMES.get(tensor.dtype), *tensor.shape] for name, tensor in tensors.items()}
    yield json.dumps([dict(texts), shapes], sort_keys=True).encode()
    for name in sorted(tensors):
        yield _bytes(tensors[name])


def _bytes(tensor: Tensor) -> memoryview:
    return tensor.reshape(-1).view(torch.uint8).numpy().data
