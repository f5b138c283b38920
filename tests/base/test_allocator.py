import subprocess
import sys

import pytest

from regard.base import allocator

PROGRAM = """
import resource, torch
from regard.base.allocator import keep_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

before = faults()
if keep_memory():
    assert min(faults() for _ in range(8)) < before / 2  # the heap grows a few times before it is large enough
"""


def test_what_is_freed_is_used_again() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.sys, "platform", "darwin")
    assert allocator.keep_memory() is False
    monkeypatch.setattr(allocator.sys, "platform", "linux")
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda _: object())
    assert allocator.keep_memory() is False
