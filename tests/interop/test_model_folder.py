"""Files of a model folder, and mistakes in them."""

from pathlib import Path

import pytest
import torch
from transformers import BertConfig

from regard.base.errors import RegardError
from regard.interop.model_folder import read_config, read_tokenizer, read_weights, write_folder

from . import hf_folders as folders


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small = BertConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=2, intermediate_size=12)
    folders.write(tmp_path, "BertForMaskedLM", small, folders.BRACKETS)
    return tmp_path


def test_shards_are_read_as_one_file(folder: Path) -> None:
    from transformers import BertForMaskedLM

    whole = read_weights(folder)
    BertForMaskedLM.from_pretrained(folder).save_pretrained(folder / "parts", max_shard_size="2KB")
    shards = sorted((folder / "parts").glob("model-*.safetensors"))
    assert len(shards) > 1
    parts = read_weights(folder / "parts")
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    index = folder / "parts" / "model.safetensors.index.json"
    told = index.read_text(encoding="utf-8")
    index.write_text('{"weight_map": {"a": 3}}', encoding="utf-8")
    with pytest.raises(RegardError, match=r"index.json: weight_map must give every tensor the name of a file"):
        read_weights(folder / "parts")
    index.write_text(told, encoding="utf-8")
    shards[0].unlink()
    with pytest.raises(RegardError, match=rf"the shard {shards[0].name} is missing"):
        read_weights(folder / "parts")


def test_the_tokenizer_is_renumbered_and_the_order_kept(folder: Path) -> None:
    subwords, order, _ = read_tokenizer(folder)
    assert subwords.pieces[:4] == ("<pad>", "<unk>", "<s>", "</s>")
    assert order[:4] == [5, 6, 7, 8]
    assert subwords.mask is not None
    assert order[subwords.mask] == 9
    assert order[subwords.encode("word3")[0]] == 3
    assert sorted(number for number in order if number is not None) == list(range(28))


def test_mistakes_are_one_sentence_each(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(RegardError, match=r"not the folder of a model: it has no config.json"):
        read_config(empty)
    with pytest.raises(RegardError, match=r"has no model.safetensors"):
        read_weights(empty)
    (empty / "pytorch_model.bin").write_bytes(b"\x80")
    with pytest.raises(RegardError, match=r"only safetensors are read.*save_pretrained\(folder\)"):
        read_weights(empty)
    with pytest.raises(RegardError, match=r"has no tokenizer.json"):
        read_tokenizer(empty)
    (empty / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(RegardError, match=r"config.json: not valid JSON"):
        read_config(empty)
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(RegardError, match=r"not a safetensors file that can be read"):
        read_weights(folder)


def test_a_folder_is_written(tmp_path: Path) -> None:
    write_folder(tmp_path, {"model_type": "bert"}, {"a": torch.ones(2)}, {"tokenizer.json": b"{}"})
    assert read_config(tmp_path) == {"model_type": "bert"}
    assert read_weights(tmp_path)["a"].tolist() == [1, 1]
    assert (tmp_path / "tokenizer.json").read_text(encoding="utf-8") == "{}"
