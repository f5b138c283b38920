"""The report on features of texts and of codes with known factors."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from regard.base.errors import RegardError, UsageError
from regard.representation.representing import represent
from tests.apps.commands.test_predict import written
from tests.representation.test_probing import LINES, write


def test_a_report_on_texts(tmp_path: Path) -> None:
    model, data = written(tmp_path, "embed"), write(tmp_path / "data.tsv", LINES)
    report = represent([model], data, draws=2, shots=(1, 2), pooling="mean", seed=5)
    names = [one["name"] for one in report["encoders"]]
    assert names == ["embed.safetensors", "random weights", "raw input"]
    own, random, raw = report["encoders"]
    assert len(own["maps"]["t-SNE"]) == len(report["sample"]["titles"]) == 24
    assert len(own["layers"]) == 1
    assert own["geometry"] != random["geometry"]
    assert 0 <= own["clusters"]["knn_accuracy"] <= 100
    assert len(own["interpolation"]["path"]) >= 2
    assert [one["selectivity"] for one in own["units"]] == sorted(
        (one["selectivity"] for one in own["units"]), reverse=True
    )
    assert own["units"][0]["favorite"] in report["classes"] and len(own["units"][0]["strongest"]) == 4
    assert "clusters" not in raw and raw["usability"]["accuracy"] == 100.0
    assert [said.split(":")[0] for said in report["findings"][-4:]] == ["Usefulness", "Clusters", "Geometry", "Layers"]
    assert "of 8 directions" in report["findings"][-2]
    assert set(report["sample"]["classes"]) == {0, 1} and report["classes"] == ["animal", "place"]
    assert "disentanglement" not in own


def test_known_factors_are_found_in_codes(tmp_path: Path) -> None:
    factors = np.array(list(product(range(3), range(4))) * 8)
    codes = (factors + 0.01 * np.random.default_rng(1).standard_normal(factors.shape)).astype(np.float32)
    turned = codes @ np.array([[0.7, 0.7], [-0.7, 0.7]], dtype=np.float32)
    np.savez(tmp_path / "data.npz", inputs=codes, factors=factors, factor_names=["shape", "x"])
    np.save(tmp_path / "straight.npy", codes)
    np.save(tmp_path / "turned.npy", turned)
    models = [tmp_path / "straight.npy", tmp_path / "turned.npy"]
    report = represent(models, tmp_path / "data.npz", draws=1, shots=(1,), baselines=False)
    straight, other = (one["disentanglement"] for one in report["encoders"])
    assert straight["mig"] > 0.9 > 0.6 > other["mig"]
    assert straight["dci_disentanglement"] > 0.95 > other["dci_disentanglement"]
    assert straight["factor_vae"] == pytest.approx(1.0)
    assert report["factor_names"] == ["shape", "x"]


def test_bad_input(tmp_path: Path) -> None:
    data = write(tmp_path / "data.tsv", LINES)
    np.save(tmp_path / "v.npy", np.ones((5, 2)))
    with pytest.raises(RegardError, match=r"v\.npy: has 5 vectors, but there are 24 labels"):
        represent([tmp_path / "v.npy"], data)
    np.save(tmp_path / "v.npy", np.ones((24, 2)))
    with pytest.raises(RegardError, match="are constant: all 24 vectors are the same"):
        represent([tmp_path / "v.npy"], data)
    np.save(tmp_path / "v.npy", np.full((24, 2), np.nan))
    with pytest.raises(RegardError, match="hold NaN"):
        represent([tmp_path / "v.npy"], data)
    with pytest.raises(RegardError, match="there is one class alone"):
        represent([tmp_path / "v.npy"], write(tmp_path / "one.tsv", LINES[:3]))
    with pytest.raises(UsageError, match="give a model"):
        represent([], data)
    with pytest.raises(RegardError, match="cannot be read as vectors"):
        represent([write(tmp_path / "bad.npy", ["no"])], data)
