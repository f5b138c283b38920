"""A service from the settings of the command line."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.apps.server.batcher import Batcher, BatchWindow
from regard.apps.server.engines import load_engines
from regard.apps.server.keys import Keys, Rates
from regard.apps.server.limits import Limits
from regard.apps.server.metrics import Metrics
from regard.apps.server.service import Service


def make_service(
    models: Sequence[str],
    limits: Limits,
    keys: Keys,
    window: BatchWindow,
    device: str = "cpu",
    threads: int | None = None,
    **settings: Any,
) -> Service:
    """Models that are ready to be asked. `threads` is how many processors work on a batch, all of them unless set.

    Further settings are those of `regard.load`.
    """
    engines, metrics = load_engines(models, device, threads=threads, **settings), Metrics()
    count = threads or torch.get_num_threads()

    def prepare() -> None:
        torch.set_num_threads(count)  # OpenMP keeps the number by thread

    batcher = Batcher(metrics, limits.queue, window, prepare)
    return Service(engines, batcher, metrics, limits, keys, Rates(limits.rate))
