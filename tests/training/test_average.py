from pathlib import Path

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError
from regard.runs.artifact import Artifact, save_artifact
from regard.training.average import average_artifacts, average_tensors


def artifact(value: float, **changes: object) -> Artifact:
    plain = {
        "config": {"model": {"name": "a"}},
        "task": "translate",
        "sizes": {"source": 3, "target": 4},
        "tokenizers": {"source": "{}"},
    }
    return Artifact(**(plain | {"weights": {"weight": torch.full((2,), value)}} | changes))


def test_it_is_numpy_s_mean() -> None:
    sets = [{"a": torch.randn(3, 4), "b": torch.randn(2, dtype=torch.float64)} for _ in range(7)]
    found = average_tensors(iter(sets))
    for name in ("a", "b"):
        mean = np.mean([one[name].double().numpy() for one in sets], axis=0)
        assert found[name].dtype == sets[0][name].dtype
        np.testing.assert_allclose(found[name].numpy(), mean, rtol=1e-6 if name == "a" else 1e-15)


def test_one_set_stays_as_it_is_and_is_not_changed() -> None:
    weights = {"a": torch.randn(5), "short": torch.randn(3).bfloat16()}
    found = average_tensors([weights, weights])
    assert all(torch.equal(found[name], tensor) for name, tensor in weights.items())
    found["a"].zero_()
    assert weights["a"].any()


def test_whole_numbers_are_not_averaged() -> None:
    assert average_tensors([{"count": torch.tensor(3)}, {"count": torch.tensor(4)}])["count"].item() == 4


def test_sets_that_do_not_go_together_are_named() -> None:
    one = {"a": torch.ones(2)}
    with pytest.raises(RegardError, match="'b' is in some of the sets"):
        average_tensors([one, one | {"b": torch.ones(1)}])
    with pytest.raises(RegardError, match="'a' has different shapes"):
        average_tensors([one, {"a": torch.ones(3)}])
    with pytest.raises(RegardError, match="nothing to average"):
        average_tensors([])


def test_models_are_averaged(tmp_path: Path) -> None:
    for at, value in enumerate((1.0, 2.0, 6.0)):
        save_artifact(tmp_path / str(at), artifact(value))
    found = average_artifacts([tmp_path / str(at) for at in range(3)])
    assert found.weights["weight"].tolist() == [3.0, 3.0]
    assert found.tokenizers == {"source": "{}"}
    with pytest.raises(RegardError, match="nothing to average"):
        average_artifacts([])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sizes": {"source": 3, "target": 5}}, "have different sizes"),
        ({"tokenizers": {"source": "[]"}}, "have different tokenizers"),
        ({"config": {"model": {"name": "b"}}}, "are models of different settings"),
    ],
)
def test_models_that_do_not_go_together_are_named(change: dict[str, object], sentence: str, tmp_path: Path) -> None:
    save_artifact(tmp_path / "a", artifact(1.0))
    save_artifact(tmp_path / "b", artifact(1.0, **change))
    with pytest.raises(RegardError, match=f"b and .*a {sentence}"):
        average_artifacts([tmp_path / "a", tmp_path / "b"])
