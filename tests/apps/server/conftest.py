"""The toy model as an engine, and services around it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from regard.apps.server.engines import Engine, load_models
from regard.apps.server.limits import Limits
from regard.apps.server.service import Service
from tests.apps.server import serving

Call = Callable[..., httpx.Response]


@pytest.fixture(scope="session")
def engine(trained: Path) -> Engine:
    """The toy model, English to German."""
    return load_models([os.fspath(trained / "runs/en-de")])[0].all[0]


@pytest.fixture
def service(engine: Engine) -> Iterator[Service]:
    made = serving.make_service(engine)
    yield made
    made.batcher.close()


@pytest.fixture
def call(engine: Engine) -> Iterator[Call]:
    with serving.called(serving.make_service(engine)) as made:
        yield made


@pytest.fixture
def small() -> Limits:
    """Limits that are soon reached."""
    return Limits(characters=100, texts=3, body_bytes=400, seconds=5.0, body_seconds=0.2)
