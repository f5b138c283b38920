"""Folders of sentence-transformers: the vectors that transformers computes, in both directions."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, BertConfig, DistilBertConfig, RobertaConfig

import regard
from regard.base.errors import RegardError, UsageError
from regard.interop.huggingface import export_huggingface, import_folder, read_folder

from . import hf_folders as folders

SMALL = {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40}
MODELS: dict[str, tuple[str, Any, dict[str, str], str]] = {
    "bert": ("BertModel", BertConfig(**SMALL), folders.BRACKETS, "[CLS] $A [SEP]"),
    "bert with a head": ("BertForMaskedLM", BertConfig(**SMALL), folders.BRACKETS, "[CLS] $A [SEP]"),
    "roberta": ("RobertaModel", RobertaConfig(**SMALL), folders.ANGLES, "<s> $A </s>"),
    "distilbert": (
        "DistilBertModel", DistilBertConfig(n_layers=2, dim=24, n_heads=3, hidden_dim=40), folders.BRACKETS,
        "[CLS] $A [SEP]",
    ),
}  # fmt: skip
MODES = {"mean": "mean_tokens", "first": "cls_token", "max": "max_tokens"}


def write(folder: Path, name: str, pooling: str = "mean", normalize: bool = True, longest: int | None = 6) -> Any:
    """A small random sentence encoder."""
    kind, config, names, frame = MODELS[name]
    made = folders.write(folder, kind, config, names)
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    first, _, last = frame.split()
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": first, "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": last, "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (first, last)},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalize else [])]
    modules = [{"idx": at, "name": str(at), "path": f"{at}_{one}" if at else "", "type": f"a.b.{one}"}
               for at, one in enumerate(kinds)]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{mode}": key == pooling for key, mode in MODES.items()}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(modes | {"include_prompt": True}), encoding="utf-8")
    if longest is not None:
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": longest}), encoding="utf-8")
    return made


def theirs(folder: Path, pooling: str, normalize: bool, longest: int = 6) -> np.ndarray:
    """The vectors as sentence-transformers computes them, with transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    given = tokenizer(folders.TEXTS, padding=True, truncation=True, max_length=longest, return_tensors="pt")
    given.pop("token_type_ids", None)
    with torch.no_grad():
        features = model(**given).last_hidden_state
    keep = given["attention_mask"][:, :, None].bool()
    if pooling == "first":
        vectors = features[:, 0]
    elif pooling == "max":
        vectors = features.masked_fill(~keep, -1e9).max(1).values
    else:
        vectors = (features * keep).sum(1) / keep.sum(1)
    return (torch.nn.functional.normalize(vectors) if normalize else vectors).numpy()


@pytest.mark.parametrize(("name", "pooling", "normalize"), [
    ("bert", "mean", True), ("bert", "max", False), ("bert with a head", "first", True), ("roberta", "mean", False),
    ("distilbert", "mean", True),
])  # fmt: skip
def test_vectors_are_those_of_transformers_in_both_directions(
    name: str, pooling: str, normalize: bool, tmp_path: Path
) -> None:
    write(tmp_path / "theirs", name, pooling, normalize)
    expected = theirs(tmp_path / "theirs", pooling, normalize)
    made = import_folder(tmp_path / "theirs", tmp_path / "model.safetensors")
    assert made.task == "embed"
    got = regard.load(tmp_path / "model.safetensors", expect=regard.SentenceEncoder).embed(folders.TEXTS)
    np.testing.assert_allclose(got, expected, atol=1e-5 * np.abs(expected).max())

    export_huggingface(tmp_path / "model.safetensors", tmp_path / "again", task="embed")
    np.testing.assert_allclose(theirs(tmp_path / "again", pooling, normalize), expected, atol=1e-6)
    before, after = (read_folder(tmp_path / one) for one in ("theirs", "again"))
    assert before.extras["frame"] == after.extras["frame"]
    assert before.extras["normalize"] == after.extras["normalize"] == normalize
    assert before.config == after.config
    steps = [step["type"] for step in json.loads((tmp_path / "again" / "modules.json").read_text())]
    assert steps[0] == "sentence_transformers.models.Transformer"


def test_a_model_without_a_head_is_read_with_mean_pooling(tmp_path: Path) -> None:
    folders.write(tmp_path, "BertModel", BertConfig(**SMALL), folders.BRACKETS)
    artifact = read_folder(tmp_path)
    assert (artifact.task, artifact.config["model"]["pooling"]) == ("embed", "mean")
    assert artifact.extras["normalize"] is False


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")


def test_what_is_not_known_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path, "bert")
    change(tmp_path / "1_Pooling" / "config.json", pooling_mode_mean_tokens=False, pooling_mode_lasttoken=True)
    with pytest.raises(RegardError, match="the pooling is lasttoken, but one of mean, cls, max"):
        read_folder(tmp_path)
    change(tmp_path / "1_Pooling" / "config.json", pooling_mode_mean_tokens=True)
    with pytest.raises(RegardError, match="the pooling is mean_tokens and lasttoken"):
        read_folder(tmp_path)
    change(tmp_path / "1_Pooling" / "config.json", pooling_mode="mean")
    assert read_folder(tmp_path).task == "embed"
    (tmp_path / "config_sentence_transformers.json").write_text('{"default_prompt_name": "query"}', encoding="utf-8")
    with pytest.raises(RegardError, match="default_prompt_name is 'query'"):
        read_folder(tmp_path)
    (tmp_path / "config_sentence_transformers.json").unlink()
    change(tmp_path / "sentence_bert_config.json", do_lower_case=True)
    with pytest.raises(RegardError, match="do_lower_case is true, but the tokenizer tells upper from lower"):
        read_folder(tmp_path)
    steps = [*json.loads((tmp_path / "modules.json").read_text()), {"type": "x.Dense", "path": "3_Dense"}]
    (tmp_path / "modules.json").write_text(json.dumps(steps), encoding="utf-8")
    with pytest.raises(RegardError, match="has the steps Transformer, Pooling, Normalize, Dense, but"):
        read_folder(tmp_path)
    steps = [{"type": "x.Transformer", "path": ""}, {"type": "x.Pooling", "path": "../elsewhere"}]
    (tmp_path / "modules.json").write_text(json.dumps(steps), encoding="utf-8")
    with pytest.raises(RegardError, match=r"a step is in '\.\./elsewhere', but must be in a folder beside it"):
        read_folder(tmp_path)
    (tmp_path / "modules.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RegardError, match="has the steps none"):
        read_folder(tmp_path)


def test_another_model_is_no_sentence_encoder(tmp_path: Path) -> None:
    folders.write(tmp_path / "theirs", "BertForMaskedLM", BertConfig(**SMALL), folders.BRACKETS)
    import_folder(tmp_path / "theirs", tmp_path / "model.safetensors")
    with pytest.raises(UsageError, match="its task is masked, but a model of the task embed is needed"):
        export_huggingface(tmp_path / "model.safetensors", tmp_path / "out", task="embed")
    assert not (tmp_path / "out").exists()
