"""A service from settings."""

import os
from pathlib import Path

import pytest
import torch

from regard.apps.server.assembly import make_service
from regard.apps.server.batcher import BatchWindow
from regard.apps.server.keys import Keys
from regard.apps.server.limits import Limits
from regard.base.errors import RegardError


class Asking:
    """Work that says how many threads compute it."""

    def run(self, items: list[int]) -> list[int]:
        return [torch.get_num_threads() for _ in items]

    def cost(self, item: int) -> int:
        return 1


def test_limits_keys_models_and_threads_arrive(trained: Path) -> None:
    limits = Limits(queue=7, rate=3)
    path = os.fspath(trained / "runs/en-de")
    service = make_service([path], limits, Keys(["k"]), BatchWindow(), threads=2)
    assert [str(engine) for engine in service.engines.all] == ["en → de"]
    assert (service.limits, bool(service.keys)) == (limits, True)
    assert service.batcher.submit(Asking(), [0]).result(30) == [2]
    service.batcher.close()
    for setting, wrong in {"precision": "int9", "shortlist": True, "engine": "none"}.items():
        with pytest.raises(RegardError, match=setting):
            make_service([path], limits, Keys(), BatchWindow(), **{setting: wrong})
