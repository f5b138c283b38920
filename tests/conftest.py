"""What every test relies on: shapes are checked, random numbers repeat, one thread computes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import settings

from tests import checking

checking.install("regard")  # before anything imports regard

# On tensors as small as here a second thread only costs time; processes that tests start hear of it too.
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"

# A shell that starts the tests in the background makes them deaf to Ctrl-C; tests that send it want to be heard.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)

# Generated examples are the same in every run of the tests; `make torture` draws new ones.
settings.register_profile("repeatable", deadline=None, derandomize="REGARD_TORTURE" not in os.environ)
settings.load_profile("repeatable")

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """While tests are collected nothing is checked: what they are made of is checked when they run."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(autouse=True)
def seed() -> int:
    """The same random numbers for every test, in whatever order tests run."""
    torch.manual_seed(0)
    return 0


@pytest.fixture
def unchecked() -> Iterator[None]:
    """The package as its users have it: shapes are not checked as types, so that its own sentences are heard."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def int8() -> None:
    """For tests that multiply whole numbers of 8 bits: they are skipped where that would end the process."""
    _skip_without("int8")


@pytest.fixture(scope="session")
def bfloat16() -> None:
    """For tests that multiply in bfloat16: they are skipped where that would end the process."""
    _skip_without("bfloat16")


def _skip_without(kind: str) -> None:
    from regard.base.processor import refusal  # shapes are checked from here on

    reason = refusal(kind)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real corpora beside the checkout; tests that ask for it are skipped where it is absent."""
    if not DATA.is_dir():
        pytest.skip("needs the real corpora, expected in ../shared/data beside the checkout")
    return DATA
