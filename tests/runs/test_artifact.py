import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from regard.base.errors import ConfigError, RegardError
from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact, load_artifact, load_weights, save_artifact, split_ties
from regard.runs.checkpoint import Checkpoint, Checkpoints
from regard.runs.tensors import read_tensors, write_tensors

MODEL = {"name": "transformer", "encoder_layers": 1, "decoder_layers": 1, "width": 8, "feedforward": 8, "heads": 2}


def some(**changes: object) -> Artifact:
    torch.manual_seed(3)
    settings = {name: value for name, value in MODEL.items() if name != "name"}
    built = Transformer(**settings).build({"source": 9, "target": 9})
    plain = Artifact(
        config={"model": MODEL, "decoding": {"beams": 4}, "languages": ["de", "en"]},
        task="translate",
        sizes={"source": 9, "target": 9},
        weights=built.state_dict(),
        tokenizers={"source": '{"ä": 1}', "target": "{}"},
        extras={"heads": [[0, 1]]},
    )
    return Artifact(**(vars(plain) | changes))


def test_a_model_is_one_file(tmp_path: Path) -> None:
    artifact = some()
    save_artifact(tmp_path / "a.safetensors", artifact)
    loaded = load_artifact(tmp_path / "a.safetensors")
    assert loaded.config == artifact.config
    assert loaded.tokenizers == artifact.tokenizers
    assert loaded.extras == artifact.extras
    assert loaded.vocabularies == (9, 9)
    model = loaded.model()
    assert not model.training
    assert all(torch.equal(tensor, artifact.weights[name]) for name, tensor in model.state_dict().items())
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_tied_tensors_are_stored_once(tmp_path: Path) -> None:
    save_artifact(tmp_path / "a", some())
    with safe_open(tmp_path / "a", "pt") as file:
        stored = set(file.keys())
        tied = json.loads(file.metadata()["tied"])
    assert tied
    assert stored.isdisjoint(tied)
    assert set(tied.values()) <= stored
    weights = load_artifact(tmp_path / "a").weights
    assert all(weights[name].data_ptr() == weights[first].data_ptr() for name, first in tied.items())


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    artifact = some()
    turned = some(
        config=dict(reversed(artifact.config.items())), weights=dict(reversed({**artifact.weights}.items())), name="b"
    )
    save_artifact(tmp_path / "a", artifact)
    save_artifact(tmp_path / "b", turned)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_loading_spends_no_random_numbers(tmp_path: Path) -> None:
    save_artifact(tmp_path / "a", some())
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    load_artifact(tmp_path / "a").model()
    assert torch.equal(torch.rand(1), expected)


def test_parts_can_be_exchanged() -> None:
    artifact = some().with_extras(shortlist=[1]).with_weights({})
    assert artifact.extras == {"heads": [[0, 1]], "shortlist": [1]}
    assert artifact.weights == {}


@pytest.mark.parametrize(
    ("content", "sentence"), [(None, "there is no such file"), (b"", "empty"), (b"PK\3\4" * 50, "not a whole safet")]
)
def test_what_is_no_model_file_is_said(content: bytes | None, sentence: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "a").write_bytes(content)
    with pytest.raises(RegardError, match=sentence):
        load_artifact(tmp_path / "a")


@given(share=st.floats(0, 0.999))
def test_a_cut_off_model_is_never_read(share: float, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("cut") / "a"
    save_artifact(path, Artifact(config={}, task="language", sizes={"text": 3}, weights={"a": torch.randn(4)}))
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(RegardError, match=r"empty|whole"):
        load_artifact(path)


def test_files_of_other_kinds_are_told_apart(tmp_path: Path) -> None:
    save_file({"weight": torch.ones(2)}, tmp_path / "foreign", metadata={"format": "pt"})
    with pytest.raises(RegardError, match="foreign: a safetensors file, but not a regard model"):
        load_artifact(tmp_path / "foreign")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(RegardError, match=f"not a regard model; it belongs to .*: regard import {tmp_path}"):
        load_artifact(tmp_path / "foreign")
    write_tensors(tmp_path / "other", {}, {})
    with pytest.raises(RegardError, match="other: a safetensors file, but not a regard model"):
        load_artifact(tmp_path / "other")
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(Checkpoint(1, {}, {}))
    with pytest.raises(RegardError, match="this is a training checkpoint, not a regard model"):
        load_artifact(checkpoints.path(1))


@pytest.mark.parametrize(("version", "cure"), [("3", "update Regard"), ("0", "write it again with this version")])
def test_another_version_is_refused(version: str, cure: str, tmp_path: Path) -> None:
    save_artifact(tmp_path / "a", some())
    tensors, texts = read_tensors(tmp_path / "a")
    write_tensors(tmp_path / "a", tensors, texts | {"version": version})
    with pytest.raises(RegardError, match=f"written in format {version}, but this Regard reads format 2; {cure}"):
        load_artifact(tmp_path / "a")


@pytest.mark.parametrize(
    ("vocabularies", "task", "sizes"),
    [([9, 8], "translate", {"source": 9, "target": 8}), ([0, 8], "language", {"text": 8})],
)
def test_the_first_format_is_read(vocabularies: list[int], task: str, sizes: dict[str, int], tmp_path: Path) -> None:
    save_artifact(tmp_path / "a", some())
    tensors, texts = read_tensors(tmp_path / "a")
    old = {key: text for key, text in texts.items() if key not in ("task", "sizes")}
    write_tensors(tmp_path / "a", tensors, old | {"version": "1", "vocabularies": json.dumps(vocabularies)})
    read = load_artifact(tmp_path / "a")
    assert (read.task, read.sizes) == (task, sizes)
    assert read.weights.keys() == some().weights.keys()


def test_metadata_that_is_lacking_is_said(tmp_path: Path) -> None:
    save_artifact(tmp_path / "a", some())
    tensors, texts = read_tensors(tmp_path / "a")
    texts.pop("config")
    write_tensors(tmp_path / "a", tensors, texts)
    with pytest.raises(RegardError, match="metadata of the model cannot be read: 'config'"):
        load_artifact(tmp_path / "a")


def test_weights_that_do_not_fit_are_named() -> None:
    weights = dict(some().weights)
    key = "output.bias" if "output.bias" in weights else "output.weight"
    with pytest.raises(RegardError, match=f"the model: has no tensor '{key}', which the model needs"):
        some(weights={name: tensor for name, tensor in weights.items() if name != key}).model()
    with pytest.raises(RegardError, match="has a tensor 'zz', which the model does not know"):
        some(weights=weights | {"zz": torch.ones(1)}).model()
    with pytest.raises(RegardError, match=rf"the tensor '{key}' has shape \(3,\), but the model needs \(9"):
        some(weights=weights | {key: torch.ones(3)}).model()


def test_a_config_without_a_known_model_is_said() -> None:
    with pytest.raises(RegardError, match="its config has no table 'model'"):
        some(config={}).model()
    with pytest.raises(ConfigError, match=r"model\.name: unknown 'transformr' \(did you mean 'transformer'\?\)"):
        some(config={"model": {"name": "transformr"}}).model()


def test_equal_tensors_are_not_tied_tensors() -> None:
    once, tied = split_ties({"a": torch.ones(2), "b": torch.ones(2), "none": torch.ones(0), "too": torch.ones(0)})
    assert set(once) == {"a", "b", "none", "too"}
    assert tied == {}


def test_weights_are_copied_not_shared() -> None:
    layer, weights = torch.nn.Linear(2, 2), {"weight": torch.ones(2, 2), "bias": torch.ones(2)}
    load_weights(layer, weights)
    weights["bias"].zero_()
    assert torch.equal(layer.bias, torch.ones(2))
