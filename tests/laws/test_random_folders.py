"""Random folders of every family: read with the same numbers as transformers, or refused in one sentence.

Besides sizes, activations and ties, folders differ in how they were written: settings under another name or of an older
version, copies of tied tensors that are equal or not, tensors under the name of their copy.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import CONFIG_MAPPING

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import BOS
from regard.interop.family import FAMILIES, standing_for
from regard.interop.huggingface import export_huggingface, import_folder, read_folder
from regard.runs.artifact import Artifact, save_artifact
from tests.decoding.readers import vocabulary
from tests.interop import hf_folders as folders

ROUNDS = 16
ACTIVATIONS = ["relu", "gelu", "gelu_new", "silu", "tanh", "gelu_pytorch_tanh", "swish", "quick_gelu"]
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
PADDED = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
OLDER = {
    "output_past": True, "num_beams": 4, "max_length": 20, "temperature": 1.0, "top_k": 50, "do_sample": False,
    "length_penalty": 2.0, "num_return_sequences": 1, "pruned_heads": {}, "torchscript": False, "xla_device": None,
    "tokenizer_class": None, "tie_encoder_decoder": False, "typical_p": 1.0, "use_bfloat16": False, "window": 3,
}  # fmt: skip
"""settings of older versions, and one that never was"""
Folder = tuple[str, dict[str, Any], dict[str, str] | None]


def reader(draw: Random, kind: str, names: dict[str, str], **more: Any) -> Folder:
    heads = draw.choice([1, 2, 3, 5])
    how = {
        "hidden_size": heads * draw.choice([2, 3, 7]), "num_attention_heads": heads,
        "num_hidden_layers": draw.choice([1, 2]), "intermediate_size": draw.choice([8, 17]),
        "hidden_act": "gelu" if kind == "Roberta" else draw.choice(ACTIVATIONS), "num_labels": draw.choice([1, 2, 3]),
        "layer_norm_eps": draw.choice([1e-12, 1e-3]), "type_vocab_size": draw.choice([1, 2, 3]),
        "max_position_embeddings": draw.choice([40, 60]), "tie_word_embeddings": draw.random() < 0.6,
    }  # fmt: skip
    head = draw.choice(["MaskedLM", "SequenceClassification", "TokenClassification"])
    return f"{kind}For{head}", how | more, names


def distilbert(draw: Random) -> Folder:
    heads = draw.choice([1, 2, 3, 5])
    how = {
        "dim": heads * draw.choice([2, 3]), "n_heads": heads, "n_layers": draw.choice([1, 2]), "hidden_dim": 9,
        "activation": draw.choice(["gelu", "relu"]), "max_position_embeddings": 40, "num_labels": 3,
        "tie_word_embeddings": draw.random() < 0.6, "sinusoidal_pos_embds": draw.random() < 0.3,
    }  # fmt: skip
    head = draw.choice(["MaskedLM", "SequenceClassification", "TokenClassification"])
    return f"DistilBertFor{head}", how, folders.BRACKETS


def gpt2(draw: Random) -> Folder:
    heads = draw.choice([1, 2, 3, 5])
    how = {
        "n_embd": heads * draw.choice([2, 4]), "n_head": heads, "n_layer": draw.choice([1, 2]), "n_positions": 30,
        "n_inner": draw.choice([None, 9]), "activation_function": draw.choice(ACTIVATIONS),
        "layer_norm_epsilon": draw.choice([1e-5, 1e-3]), "tie_word_embeddings": draw.random() < 0.6,
        **draw.choice([{}, {}, {"scale_attn_weights": False}, {"scale_attn_by_inverse_layer_idx": True}]),
    }  # fmt: skip
    return "GPT2LMHeadModel", how, draw.choice([ENDS, folders.ANGLES])


def llama(draw: Random, kind: str, odd: list[dict[str, Any]]) -> Folder:
    heads = draw.choice([1, 2, 4, 6])
    scaled = {"rope_parameters": {"rope_theta": 1e4, "rope_type": "linear", "factor": 2.0}}
    turned = {"rope_parameters": {"rope_theta": 500.0, "rope_type": "default"}}
    how = {
        "hidden_size": heads * draw.choice([2, 4]), "num_attention_heads": heads,
        "num_key_value_heads": draw.choice([some for some in (1, 2, 3, heads) if heads % some == 0]),
        "num_hidden_layers": draw.choice([1, 2]), "intermediate_size": draw.choice([9, 30]),
        "hidden_act": draw.choice(["silu", "gelu"]), "rms_norm_eps": draw.choice([1e-6, 1e-3]),
        "tie_word_embeddings": draw.random() < 0.5, "max_position_embeddings": 40,
        **draw.choice([{}, {}, turned, turned, scaled, *odd]),
    }  # fmt: skip
    return kind, how, draw.choice([ENDS, folders.ANGLES])


def t5(draw: Random) -> Folder:
    how = {
        "d_model": draw.choice([6, 25]), "d_kv": draw.choice([1, 3, 8]), "d_ff": 7, "num_layers": draw.choice([1, 2]),
        "num_decoder_layers": draw.choice([None, 1, 2]), "num_heads": draw.choice([1, 2, 3, 5]),
        "relative_attention_num_buckets": draw.choice([3, 4, 7, 8, 32]), "layer_norm_epsilon": 1e-3,
        "relative_attention_max_distance": draw.choice([5, 16, 128]), "tie_word_embeddings": draw.random() < 0.5,
        "feed_forward_proj": draw.choice(["relu", "gated-gelu", "gated-silu", "gelu_new", "gated-swish"]),
    }  # fmt: skip
    return "T5ForConditionalGeneration", how, draw.choice([PADDED, folders.ANGLES])


def marian(draw: Random, kind: str, **more: Any) -> Folder:
    heads = draw.choice([1, 2, 3])
    how = {
        "d_model": heads * draw.choice([2, 4, 7]), "encoder_attention_heads": heads, "encoder_layers": 1,
        "decoder_attention_heads": heads if draw.random() < 0.9 else 1, "decoder_layers": draw.choice([1, 2]),
        "encoder_ffn_dim": 9, "decoder_ffn_dim": 9 if draw.random() < 0.9 else 11, "max_position_embeddings": 40,
        "activation_function": draw.choice(ACTIVATIONS), "scale_embedding": draw.random() < 0.5,
        "tie_word_embeddings": draw.random() < 0.7, "forced_eos_token_id": None,
    }  # fmt: skip
    return kind, how | more, draw.choice([PADDED, folders.ANGLES])


def xlnet(draw: Random) -> Folder:
    heads = draw.choice([1, 2, 3, 5])
    how = {
        "d_model": heads * draw.choice([2, 4]), "n_head": heads, "n_layer": draw.choice([1, 2]), "d_inner": 9,
        "ff_activation": draw.choice(["gelu", "relu", "silu", "gelu_new"]), "layer_norm_eps": 1e-3,
        "tie_word_embeddings": draw.random() < 0.6,
        **draw.choice([{}, {}, {}, {"attn_type": "uni"}, {"clamp_len": 3}, {"untie_r": False}]),
    }  # fmt: skip
    return "XLNetLMHeadModel", how, folders.ANGLES


def vit(draw: Random) -> Folder:
    heads = draw.choice([1, 2, 3])
    how = {
        "hidden_size": heads * draw.choice([2, 5]), "num_attention_heads": heads, "num_hidden_layers": 1,
        "intermediate_size": 9, "image_size": draw.choice([24, 25, [24, 16]]), "patch_size": draw.choice([4, 8]),
        "num_channels": draw.choice([1, 3]), "hidden_act": draw.choice(ACTIVATIONS), "num_labels": 3,
        "qkv_bias": draw.random() < 0.8,
    }  # fmt: skip
    return "ViTForImageClassification", how, None


def swin(draw: Random) -> Folder:
    stages = draw.choice([1, 2, 3])
    how = {
        "embed_dim": 12, "image_size": draw.choice([32, 30, [39, 54]]), "patch_size": draw.choice([2, 3]),
        "depths": [draw.choice([1, 2]) for _ in range(stages)], "num_labels": 3,
        "num_heads": [draw.choice([1, 2, 3]) for _ in range(stages)], "window_size": draw.choice([2, 3, 4, 7]),
        "mlp_ratio": draw.choice([4.0, 1.5]), "hidden_act": draw.choice(ACTIVATIONS),
        "use_absolute_embeddings": draw.random() < 0.2,
    }  # fmt: skip
    return "SwinForImageClassification", how, None


def drawn(family: str, draw: Random) -> Folder:
    blocks = {"block_size": draw.choice([2, 8]), "use_bias": draw.random() < 0.9}
    shared = {"share_encoder_decoder_embeddings": draw.random() < 0.6}
    odd: list[dict[str, Any]] = [{"attention_bias": True}, {"mlp_bias": True}, {"head_dim": 10}]
    window: list[dict[str, Any]] = [{"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}]
    makers: dict[str, Any] = {
        "bert": lambda: reader(draw, "Bert", folders.BRACKETS),
        "roberta": lambda: reader(draw, "Roberta", folders.ANGLES),
        "big_bird": lambda: reader(draw, "BigBird", folders.BRACKETS, **blocks),
        "distilbert": lambda: distilbert(draw),
        "gpt2": lambda: gpt2(draw),
        "llama": lambda: llama(draw, "LlamaForCausalLM", odd),
        "qwen2": lambda: llama(draw, "Qwen2ForCausalLM", window),
        "t5": lambda: t5(draw),
        "marian": lambda: marian(draw, "MarianMTModel", **shared),
        "pegasus": lambda: marian(draw, "PegasusForConditionalGeneration"),
        "xlnet": lambda: xlnet(draw),
        "vit": lambda: vit(draw),
        "swin": lambda: swin(draw),
    }
    made: Folder = makers[family]()
    return made


def written(family: str, draw: Random, place: Path) -> tuple[str, bool]:
    """A random folder; its architecture, and whether it is one of texts."""
    kind, how, names = drawn(family, draw)
    config = CONFIG_MAPPING[family](**how)
    if names is not None:
        model = folders.write(place, kind, config, names)
    else:
        torch.manual_seed(1)
        model = getattr(transformers, kind)(config).eval()
        model.save_pretrained(place)
    settings = json.loads((place / "config.json").read_text(encoding="utf-8"))
    if draw.random() < 0.3:
        settings |= {key: OLDER[key] for key in draw.sample(sorted(OLDER), 2) if key not in settings}
    names_there = {name: other for other, name in CONFIG_MAPPING[family].attribute_map.items() if name in settings}
    if names_there and draw.random() < 0.3:
        name = draw.choice(sorted(names_there))
        settings[names_there[name]] = settings.pop(name)
    (place / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    _copy_tied_tensors(draw, place / "model.safetensors", model)
    return kind, names is not None


def _copy_tied_tensors(draw: Random, place: Path, model: Any) -> None:
    tensors = load_file(place)
    for copy, first in (getattr(model, "all_tied_weights_keys", None) or {}).items():
        choice = draw.random()
        if choice < 0.2 and first in tensors and copy not in tensors:
            tensors[copy] = tensors[first].clone() + (0.1 if choice < 0.1 else 0.0) * torch.randn(tensors[first].shape)
        elif choice < 0.3 and first in tensors:
            tensors[copy] = tensors.pop(first)
    for name, waves in model.state_dict().items():
        if name.endswith("embed_positions.weight") and draw.random() < 0.3:
            tensors[name] = waves + draw.choice([0.0, 0.1])
    save_file({name: one.contiguous() for name, one in tensors.items()}, place, metadata={"format": "pt"})


def asked_of(config: Any, texts: bool) -> dict[str, Tensor]:
    """Inputs of a model, in its own ids."""
    if not texts:
        size = config.image_size if isinstance(config.image_size, list | tuple) else [config.image_size] * 2
        seeded = torch.Generator().manual_seed(2)
        return {"pixel_values": torch.randn(3, config.num_channels, *size, generator=seeded)}
    pad = config.pad_token_id or 0
    words = [pad, *(at for at in range(config.vocab_size) if at != pad)]
    tokens, keep = folders.rows_of([9, 4, 7], words)
    asked = {"input_ids": tokens, "attention_mask": keep.long()}
    if config.is_encoder_decoder:
        asked["decoder_input_ids"], _ = folders.rows_of([7, 7, 7], words, seed=4)
        asked["decoder_input_ids"][:, 0] = config.decoder_start_token_id
    return asked


def logits_here(folder: Path, asked: Mapping[str, Tensor]) -> Tensor:
    """Ours, in the order of their ids."""
    artifact = read_folder(folder)
    model = artifact.model().eval()
    if "pixel_values" in asked:
        return model(asked["pixel_values"])
    new = standing_for(artifact.extras["huggingface"]["order"])
    back = torch.tensor([new[old] for old in range(len(new))])
    keep = asked["attention_mask"].bool()
    ids = asked["input_ids"].clone().apply_(lambda old: new[old]) * keep
    if "decoder_input_ids" in asked:
        said = asked["decoder_input_ids"].clone().apply_(lambda old: new[old])
        return model(ids, keep.sum(1), said)[..., back]
    if artifact.task == "language":
        return model(None, None, ids)[..., back]
    if artifact.task == "permuted":
        return model.output(model.encode(ids, keep.sum(1))[0])[..., back]
    made = model(ids, keep.sum(1))
    return made if artifact.task in ("classify", "tag") else model.output(made)[..., back]


def seen(logits: Tensor, asked: Mapping[str, Tensor]) -> Tensor:
    """The logits that are no padding."""
    padded = logits.dim() == 3 and "decoder_input_ids" not in asked
    return logits[asked["attention_mask"].bool()] if padded else logits


@pytest.mark.parametrize("family", FAMILIES.names)
def test_a_random_folder_gives_the_same_numbers_or_one_sentence(family: str, tmp_path: Path) -> None:
    same, refused = 0, []
    for number in range(ROUNDS):
        place = tmp_path / str(number)
        kind, texts = written(family, Random(f"{family} {number}"), place)
        try:
            import_folder(place, place / "made.regard.safetensors")
        except RegardError as error:
            assert str(place) in str(error)
            assert "\n" not in str(error)
            refused.append(str(error).removeprefix(str(place)))
            continue
        theirs, lacking = getattr(transformers, kind).from_pretrained(place, output_loading_info=True)
        unneeded = FAMILIES.make(family).unread
        assert not [name for name in lacking["missing_keys"] if not re.search(unneeded, name)]
        asked = asked_of(theirs.config, texts)
        with torch.no_grad():
            expected = seen(theirs.eval()(**asked).logits, asked)
            folders.close(seen(logits_here(place, asked), asked), expected, 1e-4)
            export_huggingface(place / "made.regard.safetensors", place / "again")
            again, lacking = getattr(transformers, kind).from_pretrained(place / "again", output_loading_info=True)
            folders.close(seen(again.eval()(**asked).logits, asked), expected, 1e-5)
        assert not lacking["unexpected_keys"]
        same += 1
    assert same >= ROUNDS // 5, refused


def design_of(name: str, draw: Random) -> dict[str, Any]:
    """Settings of a model of ours, half of which transformers cannot express."""
    heads = draw.choice([1, 2, 3])
    table: dict[str, Any] = {"name": name, "width": heads * draw.choice([4, 6]), "heads": heads, "dropout": 0.0}
    pairs = name in ("transformer", "t5")
    table |= {"encoder_layers": 1, "decoder_layers": 2} if pairs else {"layers": draw.choice([1, 2])}
    ties = {"transformer": ["none", "target", "all"], "t5": ["embeddings", "all"]}.get(name, ["none", "target"])
    choices: dict[str, list[Any]] = {
        "activation": ["relu", "gelu", "silu", "tanh"], "feedforward": [9, 40], "norm_epsilon": [1e-3, 1e-5],
        "linear_bias": ["none", "all"], "feed": ["plain", "gated"], "norm": ["layer", "rms"], "tie": ties,
        "norm_place": ["before", "after"], "positions": ["learned(30)", "sinusoidal", "rotary", "none"],
    }  # fmt: skip
    return table | {key: draw.choice(values) for key, values in choices.items() if draw.random() < 0.2}


EXPORTED = {
    "bert": ("masked", "AutoModelForMaskedLM"),
    "gpt": ("language", "AutoModelForCausalLM"),
    "t5": ("translate", "AutoModelForSeq2SeqLM"),
    "transformer": ("translate", "AutoModelForSeq2SeqLM"),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_a_random_design_is_written_with_the_same_numbers_or_refused(name: str, tmp_path: Path) -> None:
    (task, kind), subwords, same = EXPORTED[name], vocabulary(), 0
    sides = ("source", "target") if task == "translate" else ("text",)
    for number in range(ROUNDS):
        place, table = tmp_path / str(number), design_of(name, Random(f"{name} {number}"))
        sizes, texts = dict.fromkeys(sides, len(subwords)), dict.fromkeys(sides, subwords.to_json())
        made = Artifact(config={"model": table}, task=task, sizes=sizes, tokenizers=texts)
        torch.manual_seed(number)
        model = made.design().build(sizes).eval()
        save_artifact(tmp_path / f"{number}.safetensors", made.with_weights(model.state_dict()))
        try:
            export_huggingface(tmp_path / f"{number}.safetensors", place)
        except RegardError as error:
            assert "\n" not in str(error)
            assert not place.exists()
            continue
        theirs, lacking = getattr(transformers, kind).from_pretrained(place, output_loading_info=True)
        assert not lacking["missing_keys"]
        assert not lacking["unexpected_keys"]
        tokens, lengths = torch.randint(4, len(subwords), (2, 7)), torch.tensor([7, 7])
        with torch.no_grad():
            if task == "translate":
                said = torch.cat([torch.full((2, 1), BOS), tokens[:, :4]], 1)
                got, expected = model(tokens, lengths, said), theirs.eval()(input_ids=tokens, decoder_input_ids=said)
            else:
                got = model.output(model(tokens, lengths)) if task == "masked" else model(None, None, tokens)
                expected = theirs.eval()(tokens)
        folders.close(expected.logits, got, 1e-4)
        same += 1
    assert same >= ROUNDS // 5
