"""A classifier that pools by the mean goes to sentence-transformers and back with the same probabilities."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

import regard
from regard.base.errors import RegardError
from regard.interop.huggingface import export_huggingface, read_folder
from regard.runs.artifact import Artifact, save_artifact

from . import hf_folders as folders
from .test_sentence_folder import write

WIDTH, CLASSES = 24, ["good", "bad", "neither"]


def classifier(folder: Path) -> Artifact:
    """A random encoder with a random head of three classes behind the mean of its features."""
    write(folder, "bert", normalize=False)
    found = read_folder(folder)
    torch.manual_seed(3)
    sizes = {"inner": (WIDTH, WIDTH), "outer": (len(CLASSES), WIDTH)}
    head = {f"head.{name}.weight": torch.randn(*shape) for name, shape in sizes.items()}
    head |= {f"head.{name}.bias": torch.randn(shape[0]) for name, shape in sizes.items()}
    extras = {key: value for key, value in found.extras.items() if key != "normalize"}
    return replace(
        found,
        task="classify",
        sizes={"text": found.sizes["text"], "classes": len(CLASSES)},
        weights={**found.weights, **head},
        extras={**extras, "classes": CLASSES, "labels": "one", "texts": None},
    )


def theirs(folder: Path) -> Tensor:
    """The logits by the steps of the folder, with transformers for the first."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    given = tokenizer(folders.TEXTS, padding=True, truncation=True, max_length=6, return_tensors="pt")
    given.pop("token_type_ids", None)
    features, keep = model(**given).last_hidden_state, given["attention_mask"][:, :, None]
    x = (features * keep).sum(1) / keep.sum(1)
    for step in json.loads((folder / "modules.json").read_text())[2:]:
        assert step["type"] == "sentence_transformers.models.Dense"
        config = json.loads((folder / step["path"] / "config.json").read_text())
        dense = nn.Linear(config["in_features"], config["out_features"], bias=config["bias"])
        own = load_file(folder / step["path"] / "model.safetensors")
        dense.load_state_dict({name.removeprefix("linear."): tensor for name, tensor in own.items()})
        function = config["activation_function"].rpartition(".")[2]
        x = getattr(nn, function)()(dense(x))
    return x


@torch.no_grad()
def test_probabilities_are_the_same_in_both_directions(tmp_path: Path) -> None:
    save_artifact(tmp_path / "model.safetensors", classifier(tmp_path / "encoder"))
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "there")
    ours = regard.load(tmp_path / "model.safetensors").predict(folders.TEXTS)
    wanted = theirs(tmp_path / "there").softmax(-1)
    assert json.loads((tmp_path / "there" / "config.json").read_text())["id2label"]["2"] == "neither"
    for own, row in zip(ours, wanted.tolist(), strict=True):
        assert [own.details["probabilities"][name] for name in CLASSES] == pytest.approx(row, abs=1e-5)
    again = read_folder(tmp_path / "there")
    assert (again.task, again.extras["classes"], again.extras["frame"]["longest"]) == ("classify", CLASSES, 6)
    save_artifact(tmp_path / "again.safetensors", again)
    for own, other in zip(ours, regard.load(tmp_path / "again.safetensors").predict(folders.TEXTS), strict=True):
        assert own.details == other.details


def test_what_does_not_classify_is_refused(tmp_path: Path) -> None:
    save_artifact(tmp_path / "model.safetensors", classifier(tmp_path / "encoder"))
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "there")
    config, weights = (tmp_path / "there" / "3_Dense" / name for name in ("config.json", "model.safetensors"))
    good = config.read_text()
    config.write_text(good.replace("linear.Identity", "activation.Tanh"))
    with pytest.raises(RegardError, match=r"Dense steps end in torch.nn.modules.activation.Tanh and .*Tanh, but"):
        read_folder(tmp_path / "there")
    config.write_text(good)
    save_file({"linear.weight": torch.zeros(3, 7), "linear.bias": torch.zeros(3)}, weights)
    with pytest.raises(RegardError, match=r"give head.outer.weight the shape \[3, 7\], not \[3, 24\]"):
        read_folder(tmp_path / "there")
    save_file({"weight": torch.zeros(3, 7)}, weights)
    with pytest.raises(RegardError, match=r"must have linear\.weight and linear\.bias, but has"):
        read_folder(tmp_path / "there")
