"""What the environment says about ranks, and mistakes in it; failing ranks are tried in tests/tasks/test_ranked.py."""

import json
from pathlib import Path

import pytest

from regard.base.errors import UsageError
from regard.base.joining import joined_ranks, may_speak, own_device, report_to_torchrun
from regard.base.ranks import ALONE
from regard.base.world import own_rank, world_size


def test_without_torchrun_a_process_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    monkeypatch.setenv("RANK", "3")  # of some other program
    assert (world_size(), own_rank(), own_device("cuda"), may_speak()) == (1, 0, "cuda", True)
    with joined_ranks() as ranks:
        assert ranks is ALONE


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"WORLD_SIZE": "two"}, "WORLD_SIZE: this environment variable must be a number, but is two"),
        ({"WORLD_SIZE": "2"}, "RANK: this environment variable must be a number, but is not set; torchrun sets it"),
        ({"WORLD_SIZE": "2", "RANK": "0"}, "MASTER_PORT: .* is not set"),
        ({"WORLD_SIZE": "2", "RANK": "0", "REGARD_WAIT": "long"}, "REGARD_WAIT: must be a number of seconds"),
    ],
)
def test_a_wrong_environment_is_a_sentence(
    told: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WORLD_SIZE", "RANK", "MASTER_PORT", "REGARD_WAIT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=sentence), joined_ranks():
        pass


def test_a_rank_without_a_gpu_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WORLD_SIZE": "16", "RANK": "9", "LOCAL_RANK": "9"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="rank 9 is number 9 on its machine, which has"):
        own_device("cuda")


def test_torchrun_is_told_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    report_to_torchrun("the disk is full")
    assert json.loads((tmp_path / "error.json").read_text())["message"]["message"] == "the disk is full"
