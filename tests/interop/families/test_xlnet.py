"""The names of tensors and settings; tests/models/test_xlnet.py compares the numbers."""

from pathlib import Path

import pytest
import torch

from regard.interop.families.xlnet import Xlnet
from regard.interop.huggingface import export_huggingface, read_folder
from regard.models.model import MODELS
from regard.runs.artifact import Artifact, save_artifact
from regard.tasks.run import run_of


def test_every_tensor_of_a_model_has_a_name_there() -> None:
    table = {"name": "xlnet", "layers": 2, "width": 8, "heads": 2, "tie": "none"}
    ours = [entry.ours for entry in Xlnet().entries(table, "permuted", {})]
    assert len(set(ours)) == len(ours)
    assert set(ours) == set(MODELS.make(table).build({"text": 20}).state_dict())


def test_a_folder_is_written_read_by_transformers_and_read_again(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from regard.data.subwords.learn import SubwordSettings, learn_subwords

    subwords = learn_subwords(["the dog sees the cat"] * 20, SubwordSettings(size=40)).with_mask()
    sizes = {"text": len(subwords)}
    model = {"name": "xlnet", "layers": 2, "width": 16, "heads": 2, "feedforward": 24}
    run = run_of({"task": "permuted", "data": {"train": ["a.txt"]}, "model": model}, "law")
    built = run.model.build(sizes).eval()
    artifact = Artifact(
        config=run.to_dict(), task="permuted", sizes=sizes, tokenizers={"text": subwords.to_json()}
    ).with_weights(built.state_dict())
    save_artifact(tmp_path / "model.safetensors", artifact)
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "there")
    theirs = transformers.XLNetLMHeadModel.from_pretrained(tmp_path / "there").eval()
    again = read_folder(tmp_path / "there")
    tokens = torch.randint(4, sizes["text"], (2, 5))
    with torch.no_grad():
        expected = theirs(tokens).logits
        for one in (built, again.model()):
            features, _ = one.encode(tokens, torch.tensor([5, 5]))
            torch.testing.assert_close(one.output(features), expected, rtol=0, atol=1e-5)
