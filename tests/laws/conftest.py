"""Shapes are checked as types in one law of four, chosen by its name: to check them takes a third of the time.

They are checked in all other tests, and by `make torture` in every law.
"""

import os
from collections.abc import Iterator
from zlib import crc32

import jaxtyping
import pytest


@pytest.fixture(autouse=True)
def checked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check shapes, or leave them unchecked, while a law is tried."""
    unchecked = "REGARD_TORTURE" not in os.environ and crc32(request.node.name.encode()) % 4 != 0
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", before or unchecked)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
