"""Limits of what a file can make a program build; tests/faults tries whole files."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from regard.base.errors import ConfigError, RegardError
from regard.runs.forgery import build_checked, check_fits, check_parts

PARTS = {"config": {}, "task": "translate", "sizes": {"source": 3}, "tokenizers": {}, "extras": {}}
WEIGHTS = {"weight": torch.zeros(3, 2), "bias": torch.zeros(3)}


def test_metadata_of_the_right_types_passes() -> None:
    check_parts("a", PARTS, {"again": "weight"}, WEIGHTS)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("config", []),
        ("config", {"model": 5}),
        ("task", 1),
        ("sizes", {"source": 0}),
        ("sizes", {"source": 2**31}),
        ("sizes", {"source": 1.0}),
        ("tokenizers", {"source": {}}),
        ("extras", None),
    ],
)
def test_metadata_of_other_types_is_refused(part: str, value: object) -> None:
    with pytest.raises(RegardError, match="a: the metadata of the model cannot be read: its "):
        check_parts("a", {**PARTS, part: value}, {}, WEIGHTS)


@pytest.mark.parametrize("tied", [{"again": "nothing"}, {"bias": "weight"}, {"again": 1}, []])
def test_only_tensors_that_are_there_are_tied(tied: object) -> None:
    with pytest.raises(RegardError, match="it ties tensors that are not there"):
        check_parts("a", PARTS, tied, WEIGHTS)


def test_a_model_that_fits_is_built_with_its_numbers() -> None:
    torch.manual_seed(1)
    built = build_checked("a", lambda: nn.Linear(2, 3), WEIGHTS)
    torch.manual_seed(1)
    assert torch.equal(built.weight, nn.Linear(2, 3).weight)
    nn.Linear(10, 10)  # the limit is gone


def test_one_that_is_too_large_is_given_up_before_it_is_allocated() -> None:
    made: list[int] = []

    def many() -> nn.Module:
        return nn.ModuleList([(made.append(at), nn.Linear(1, 1))[1] for at in range(10**9)])

    for build in (lambda: nn.Linear(10**6, 10**9), many):
        with pytest.raises(RegardError, match="describe a larger model than its tensors are"):
            build_checked("a", build, WEIGHTS)
    assert len(made) < 50


def test_tables_that_are_computed_have_a_limit_too() -> None:
    def build() -> nn.Module:
        module = nn.Module()
        module.register_buffer("table", torch.zeros(10**7, 10), persistent=False)
        return module

    with pytest.raises(RegardError, match="larger tables"):
        build_checked("a", build, WEIGHTS)


def test_where_the_meta_device_is_not_known_the_limits_hold() -> None:
    def build() -> nn.Module:
        if torch.empty(0).is_meta:
            raise NotImplementedError
        return nn.Linear(10**5, 10**3)

    with pytest.raises(RegardError, match="larger model"):
        build_checked("a", build, WEIGHTS)


@pytest.mark.parametrize("error", [TypeError("x\ny"), OverflowError("x"), ConfigError("x"), RuntimeError("x")])
def test_any_failure_to_build_is_one_sentence(error: Exception) -> None:
    def build() -> nn.Module:
        raise error

    with pytest.raises(RegardError, match=r"^a: .*: x$"):
        build_checked("a", build, WEIGHTS)


def test_types_must_fit() -> None:
    check_fits(nn.Linear(2, 3), {**WEIGHTS, "bias": torch.zeros(3, dtype=torch.bfloat16)}, "a")
    for kind in (torch.int8, torch.bool, torch.int64):
        with pytest.raises(RegardError, match=r"a: the tensor 'bias' is of type \w+, not float32"):
            check_fits(nn.Linear(2, 3), {**WEIGHTS, "bias": torch.zeros(3, dtype=kind)}, "a")


def test_nothing_is_drawn_on_the_meta_device_so_torchs_compiler_is_not_loaded() -> None:
    code = "import sys, torch; from torch import nn; from regard.runs.forgery import build_checked\n"
    code += "build_checked('a', lambda: nn.Embedding(3, 2), {'weight': torch.zeros(3, 2)})\n"
    code += "build_checked('a', lambda: nn.Linear(2, 3), {'weight': torch.zeros(3, 2), 'bias': torch.zeros(3)})\n"
    code += "print('torch._dynamo' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
