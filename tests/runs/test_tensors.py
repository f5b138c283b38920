import errno
import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.base import files
from regard.base.errors import RegardError
from regard.runs.tensors import DamagedError, read_tensors, read_texts, write_tensors

KINDS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool]


def some_tensors() -> dict[str, Tensor]:
    tensors = {f"a.{at}": (torch.randn(2, 3) * 4).to(kind) for at, kind in enumerate(KINDS)}
    return tensors | {"scalar": torch.tensor(3.5), "none": torch.zeros(0, 4), "turned": torch.randn(3, 2).T}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    tensors, texts = some_tensors(), {"config": '{"a": "ä\\n"}', "empty": ""}
    write_tensors(tmp_path / "a", tensors, texts)
    read, read_back = read_tensors(tmp_path / "a")
    assert read_back == texts == read_texts(tmp_path / "a")
    assert read.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


def test_the_library_reads_it_too(tmp_path: Path) -> None:
    tensors = some_tensors()
    write_tensors(tmp_path / "a", tensors, {"x": "y"})
    for name, tensor in load_file(tmp_path / "a").items():
        assert torch.equal(tensor, tensors[name])


def test_every_tensor_begins_at_a_multiple_of_its_size(tmp_path: Path) -> None:
    tensors = some_tensors() | {"odd": torch.ones(3, dtype=torch.bool)}
    write_tensors(tmp_path / "a", tensors, {})
    data = (tmp_path / "a").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    assert length % 8 == 0
    assert all(header[name]["data_offsets"][0] % tensor.element_size() == 0 for name, tensor in tensors.items())


@given(order=st.permutations(range(6)))
def test_equal_content_gives_equal_bytes(order: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for name, numbers in (("a", list(range(6))), ("b", order)):
        tensors = {str(at): torch.arange(at, dtype=KINDS[at]) for at in numbers}
        write_tensors(folder / name, tensors, {str(at): "text" for at in numbers})
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_any_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_tensors(path, {"weight": torch.randn(3, 2), "bias": torch.randn(2)}, {"config": "{}"})
    whole = path.read_bytes()
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 0x04
        path.write_bytes(changed)
        with pytest.raises(RegardError, match="a: "):
            read_tensors(path)


def test_any_missing_end_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_tensors(path, {"weight": torch.randn(3, 2)}, {"config": "{}"})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedError, match=r"empty|not a whole safetensors file"):
            read_tensors(path)


def test_a_file_that_another_program_wrote_is_read_without_a_checksum(tmp_path: Path) -> None:
    save_file({"weight": torch.ones(2)}, tmp_path / "a", metadata={"format": "pt"})
    tensors, texts = read_tensors(tmp_path / "a")
    assert torch.equal(tensors["weight"], torch.ones(2))
    assert texts == {"format": "pt"}


def test_a_checksum_has_to_fit_even_when_its_name_is_damaged(tmp_path: Path) -> None:
    write_tensors(tmp_path / "a", {"weight": torch.ones(2)}, {"kind": "x"})
    whole = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(whole.replace(b'"checksum"', b'"chdcksum"'))
    with pytest.raises(DamagedError, match="does not match its checksum; if another program changed it on purpose"):
        read_tensors(tmp_path / "a")
    with safe_open(tmp_path / "a", "pt") as file:
        metadata = file.metadata()
    save_file({"weight": torch.zeros(2)}, tmp_path / "b", metadata=metadata)
    with pytest.raises(DamagedError, match="leave 'checksum' out of the metadata there"):
        read_tensors(tmp_path / "b")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"gone: cannot be read: there is no such file"):
        read_tensors(tmp_path / "gone")
    with pytest.raises(RegardError, match=r"cannot be read|folder"):
        read_tensors(tmp_path)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    write_tensors(path, {"weight": torch.ones(2)}, {})
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(RegardError, match="a: cannot be written: no space left on device"):
        write_tensors(path, {"weight": torch.zeros(2)}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_survive_bit_by_bit(tmp_path: Path) -> None:
    odd = torch.from_numpy(np.array([np.nan, -0.0, np.inf, 5e-324, 0.1]))
    write_tensors(tmp_path / "a", {"odd": odd}, {})
    assert read_tensors(tmp_path / "a")[0]["odd"].numpy().tobytes() == odd.numpy().tobytes()
