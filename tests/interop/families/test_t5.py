"""Folders of T5: the same numbers here and in transformers, both versions, both ways."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import T5Config

import regard
from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import BOS, PAD, UNK
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translator import Translator
from regard.interop.family import standing_for
from regard.interop.huggingface import export_huggingface, import_folder, read_folder
from regard.runs.artifact import Artifact, save_artifact
from tests.decoding.readers import vocabulary
from tests.interop import hf_folders as folders

NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
SIZES = {"d_model": 24, "d_kv": 5, "d_ff": 40, "num_layers": 2, "num_heads": 3}
KINDS: dict[str, dict[str, Any]] = {
    "version 1.0": {},
    "version 1.1": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "uneven, few buckets": {
        "num_decoder_layers": 1, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12,
        "feed_forward_proj": "gated-silu", "layer_norm_epsilon": 1e-4,
    },
    "plain gelu": {"feed_forward_proj": "gelu_new", "d_kv": 8, "num_layers": 1},
}  # fmt: skip


def written(folder: Path, name: str = "version 1.0", *, untied: bool = False) -> Any:
    """A folder with random weights; an output of its own is put into the file, as in published folders of 1.1."""
    config = T5Config(**{**SIZES, **KINDS[name]})
    theirs = folders.write(folder, "T5ForConditionalGeneration", config, NAMES)
    if not untied:
        return theirs
    tensors = load_file(folder / "model.safetensors")
    tensors["lm_head.weight"] = torch.randn(tensors["shared.weight"].shape, generator=torch.Generator().manual_seed(5))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return type(theirs).from_pretrained(folder).eval()


@pytest.mark.parametrize("name", KINDS)
def test_logits_are_the_same_with_padding_and_cache(name: str, tmp_path: Path) -> None:
    folders.logits_both_ways(tmp_path, written(tmp_path, name), [9, 4, 30], 25)


def test_an_output_of_its_own_is_told_by_the_weights(tmp_path: Path) -> None:
    theirs = written(tmp_path, "version 1.1", untied=True)
    artifact = folders.logits_both_ways(tmp_path, theirs, [7, 5], 6)
    assert (artifact.config["model"]["tie"], artifact.config["model"]["output_scale"]) == ("embeddings", "none")


def test_greedy_texts_are_the_same(tmp_path: Path) -> None:
    theirs = written(tmp_path)
    import_folder(tmp_path, tmp_path / "model.regard.safetensors")
    translator = regard.load(tmp_path / "model.regard.safetensors")
    assert isinstance(translator, Translator)
    tokenizer = folders.tokenizer(NAMES)
    order = read_folder(tmp_path).extras["huggingface"]["order"]
    for text in folders.TEXTS:
        ids = torch.tensor([[*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]])
        never = sorted({order[token] for token in (PAD, UNK, BOS)})
        made = theirs.generate(ids, do_sample=False, max_new_tokens=15, suppress_tokens=never)
        (found,) = translator.translate([text], strategy=Greedy(max_length=15))
        got = [order[token] for token in found.n_best[0].tokens]
        expected = made[0, 1:].tolist()
        assert [*got, tokenizer.eos_token_id][: len(expected)] == expected


def test_a_model_of_ours_is_loaded_there(tmp_path: Path) -> None:
    subwords = vocabulary()
    table = {"name": "t5", "encoder_layers": 2, "decoder_layers": 1, "width": 16, "heads": 2, "feed": "gated"}
    sizes = {"source": len(subwords), "target": len(subwords)}
    tokenizers = dict.fromkeys(("source", "target"), subwords.to_json())
    made = Artifact(config={"model": table}, task="translate", sizes=sizes, tokenizers=tokenizers)
    model = made.design().build(sizes).eval()
    save_artifact(tmp_path / "t5.safetensors", made.with_weights(model.state_dict()))
    export_huggingface(tmp_path / "t5.safetensors", tmp_path / "there")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "there").eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")
    text = "two dogs play"
    ids = tokenizer(text)["input_ids"]
    assert ids == [*subwords.encode(text), 3]
    target = torch.tensor([[BOS, 5, 6, 7]])
    with torch.no_grad():
        ours = model(torch.tensor([ids]), torch.tensor([len(ids)]), target)
        folders.close(theirs(input_ids=torch.tensor([ids]), decoder_input_ids=target).logits, ours)


def test_what_transformers_cannot_express_is_refused_by_name(tmp_path: Path) -> None:
    subwords = vocabulary()
    sizes = {"source": len(subwords), "target": len(subwords)}
    table = {"name": "t5", "encoder_layers": 1, "decoder_layers": 1, "width": 16, "heads": 2, "score": "scaled_dot"}
    tokenizers = dict.fromkeys(("source", "target"), subwords.to_json())
    made = Artifact(config={"model": table}, task="translate", sizes=sizes, tokenizers=tokenizers)
    save_artifact(tmp_path / "t5.safetensors", made.with_weights(made.design().build(sizes).state_dict()))
    with pytest.raises(UsageError, match=r"model.score is ScaledDot.*, which 't5' of transformers cannot express"):
        export_huggingface(tmp_path / "t5.safetensors", tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"feed_forward_proj": "gated-mish"}, r"feed_forward_proj: activation: unknown 'mish'"),
        ({"is_encoder_decoder": False}, r"is_encoder_decoder is False, but only True can be read"),
        ({"num_decoder_layers": 3}, r"has no tensor 'decoder.block.2.layer.0.SelfAttention.q.weight'"),
        ({"d_kv": 6}, r"give a tensor of shape \[45, 24\], but config.json asks for \[54, 24\]"),
        ({"vocab_size": 60}, r"shared.weight has 29 rows, but config.json has a larger vocabulary"),
        ({"vocab_size": 9}, r"tokens up to number 25, but the model has 9 embeddings; it belongs to another model"),
        ({"architectures": ["T5EncoderModel"]}, r"the architecture T5EncoderModel is not read"),
        ({"rope_theta": 1.0}, r"the setting 'rope_theta' of t5 is not known here"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    written(tmp_path)
    folders.changed(tmp_path, **settings)
    with pytest.raises(RegardError, match=sentence) as caught:
        import_folder(tmp_path, tmp_path / "out.safetensors")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.safetensors").exists()


def test_the_start_of_outputs_is_their_start_token(tmp_path: Path) -> None:
    theirs = written(tmp_path)
    artifact = read_folder(tmp_path)
    order = artifact.extras["huggingface"]["order"]
    assert order[BOS] == order[PAD] == theirs.config.pad_token_id
    assert standing_for(order)[theirs.config.pad_token_id] == BOS
    table = artifact.weights["target.table.weight"]
    assert torch.equal(table[BOS], table[PAD])
