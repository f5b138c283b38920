"""Folders of transformers: the same numbers here and there, in both directions."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BigBirdConfig,
    DistilBertConfig,
    GPT2Config,
    LlamaConfig,
    Qwen2Config,
    RobertaConfig,
)

import regard
from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import BOS, PAD, UNK
from regard.decoding.strategies.greedy import Greedy
from regard.interop.huggingface import export_huggingface, import_folder, read_folder
from regard.models.bert import Bert
from regard.models.gpt import Gpt
from regard.runs.artifact import Artifact, load_artifact, save_artifact
from tests.decoding.readers import vocabulary

from . import hf_folders as folders

SMALL = {"num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40}
LABELS = {"num_labels": 3}
READERS: dict[str, tuple[str, Any, dict[str, str]]] = {
    "bert": ("BertForMaskedLM", BertConfig(**SMALL), folders.BRACKETS),
    "bert, untied, relu": (
        "BertForMaskedLM", BertConfig(**SMALL, tie_word_embeddings=False, hidden_act="relu"), folders.BRACKETS,
    ),
    "bert, three segments, new gelu": (
        "BertForMaskedLM", BertConfig(**SMALL, type_vocab_size=3, hidden_act="gelu_new"), folders.BRACKETS,
    ),
    "bert, classes": ("BertForSequenceClassification", BertConfig(**SMALL, **LABELS), folders.BRACKETS),
    "bert, tags": ("BertForTokenClassification", BertConfig(**SMALL, **LABELS), folders.BRACKETS),
    "roberta, tags": ("RobertaForTokenClassification", RobertaConfig(**SMALL, **LABELS), folders.ANGLES),
    "roberta": (
        "RobertaForMaskedLM",
        RobertaConfig(**SMALL, type_vocab_size=1, layer_norm_eps=1e-5, max_position_embeddings=50),
        folders.ANGLES,
    ),
    "roberta, untied": ("RobertaForMaskedLM", RobertaConfig(**SMALL, tie_word_embeddings=False), folders.ANGLES),
    "roberta, classes": ("RobertaForSequenceClassification", RobertaConfig(**SMALL, **LABELS), folders.ANGLES),
    "distilbert": (
        "DistilBertForMaskedLM", DistilBertConfig(n_layers=2, dim=24, n_heads=3, hidden_dim=40), folders.BRACKETS,
    ),
    "distilbert, tags": (
        "DistilBertForTokenClassification",
        DistilBertConfig(n_layers=2, dim=24, n_heads=3, hidden_dim=40, **LABELS),
        folders.BRACKETS,
    ),
    "distilbert, classes": (
        "DistilBertForSequenceClassification",
        DistilBertConfig(n_layers=2, dim=24, n_heads=3, hidden_dim=40, **LABELS),
        folders.BRACKETS,
    ),
    "big_bird": ("BigBirdForMaskedLM", BigBirdConfig(**SMALL, block_size=4, num_random_blocks=1), folders.BRACKETS),
    "big_bird, full": (
        "BigBirdForMaskedLM", BigBirdConfig(**SMALL, attention_type="original_full", max_position_embeddings=50),
        folders.BRACKETS,
    ),
    "big_bird, classes": ("BigBirdForSequenceClassification", BigBirdConfig(**SMALL, **LABELS), folders.BRACKETS),
    "big_bird, tags": ("BigBirdForTokenClassification", BigBirdConfig(**SMALL, **LABELS), folders.BRACKETS),
}  # fmt: skip
LENGTHS = [9, 4, 7]


def reader(name: str, folder: Path) -> Any:
    kind, config, names = READERS[name]
    return folders.write(folder, kind, config, names)


def logits_here(
    artifact: Artifact, tokens: torch.Tensor, keep: torch.Tensor, segments: torch.Tensor | None = None
) -> torch.Tensor:
    """Our logits for their ids, in their order."""
    order = artifact.extras["huggingface"]["order"]
    new = {old: at for at, old in enumerate(order) if old is not None}
    ids = tokens.apply_(lambda old: new[old]) * keep
    model = artifact.model()
    with torch.no_grad():
        made = model(ids, keep.sum(1), segments)
        if artifact.task in ("classify", "tag"):
            return made
        return model.output(made)[..., torch.tensor([new[old] for old in range(len(new))])]


@pytest.mark.parametrize("name", READERS)
def test_logits_of_readers_are_the_same(name: str, tmp_path: Path) -> None:
    theirs = reader(name, tmp_path)
    artifact = read_folder(tmp_path)
    pad = theirs.config.pad_token_id
    words = [pad, *(at for at in range(theirs.config.vocab_size) if at != pad)]
    tokens, keep = folders.rows_of(LENGTHS, words)
    expected = theirs(input_ids=tokens, attention_mask=keep.long()).logits
    got = logits_here(artifact, tokens.clone(), keep)
    if artifact.task == "classify":
        folders.close(got, expected)
    else:
        folders.close(got[keep], expected[keep])


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_padding_on_the_left_changes_nothing(name: str, tmp_path: Path) -> None:
    theirs = reader(name, tmp_path)
    pad = theirs.config.pad_token_id
    words = [pad, *(at for at in range(theirs.config.vocab_size) if at != pad)]
    tokens, keep = folders.rows_of(LENGTHS, words)
    left, seen = tokens.flip(1), keep.flip(1)
    first = pad + 1 if name == "roberta" else 0
    at = (seen.cumsum(1) - 1).clamp(min=0) + first
    expected = theirs(input_ids=left, attention_mask=seen.long(), position_ids=at).logits
    for row, length in enumerate(LENGTHS):
        alone = left[row : row + 1, -length:]
        got = logits_here(read_folder(tmp_path), alone.clone(), torch.ones_like(alone).bool())
        folders.close(got[0], expected[row, -length:])


def test_segments_are_the_same(tmp_path: Path) -> None:
    theirs = reader("bert", tmp_path)
    tokens, keep = folders.rows_of([8, 8], list(range(20)))
    segments = (torch.arange(8) > 4).long().expand(2, 8)
    got = logits_here(read_folder(tmp_path), tokens.clone(), keep, segments)
    folders.close(got, theirs(input_ids=tokens, token_type_ids=segments).logits)


@pytest.mark.parametrize("name", READERS)
def test_what_was_read_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    theirs = reader(name, tmp_path / "theirs")
    import_folder(tmp_path / "theirs", tmp_path / "model.safetensors")
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "again")
    again = type(theirs).from_pretrained(tmp_path / "again").eval()
    tokens, keep = folders.rows_of(LENGTHS, [theirs.config.pad_token_id, *range(8, 20)])
    expected = theirs(input_ids=tokens, attention_mask=keep.long()).logits
    got, seen = again(input_ids=tokens, attention_mask=keep.long()).logits, keep if expected.dim() == 3 else slice(None)
    folders.close(got[seen], expected[seen], 1e-6)
    before, after = (transformers.AutoTokenizer.from_pretrained(tmp_path / name) for name in ("theirs", "again"))
    assert before(folders.TEXTS)["input_ids"] == after(folders.TEXTS)["input_ids"]


def test_masked_places_are_filled_as_transformers_fills_them(tmp_path: Path) -> None:
    theirs = reader("bert", tmp_path)
    import_folder(tmp_path, tmp_path / "model.safetensors")
    filler = regard.load(tmp_path / "model.safetensors")
    (places,) = filler.fill(["word1 [MASK] word3"], count=4)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = tokenizer.convert_tokens_to_ids(["[CLS]", "word1", "[MASK]", "word3", "[SEP]"])
    best = theirs(torch.tensor([ids])).logits[0, 2].softmax(-1)[: len(tokenizer)].topk(4)
    known = [one for one in places[0] if one.text]
    for one in known:
        assert one.probability == pytest.approx(
            float(theirs(torch.tensor([ids])).logits[0, 2].softmax(-1)[tokenizer.convert_tokens_to_ids(one.text)]),
            rel=1e-4,
        )
    assert best.values[0] <= places[0][0].probability * (1 + 1e-4)


def test_classes_have_their_names_and_two_texts_are_joined(tmp_path: Path) -> None:
    config = BertConfig(**SMALL, id2label={0: "no", 1: "yes", 2: "both"})
    theirs = folders.write(tmp_path, "BertForSequenceClassification", config, folders.BRACKETS)
    import_folder(tmp_path, tmp_path / "model.safetensors")
    classifier = regard.load(tmp_path / "model.safetensors")
    (one,) = classifier.classify([("word1 word2", "word3")])
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    ids = tokenizer.convert_tokens_to_ids(["[CLS]", "word1", "word2", "[SEP]", "word3", "[SEP]"])
    segments = torch.tensor([[0, 0, 0, 0, 1, 1]])
    expected = theirs(torch.tensor([ids]), token_type_ids=segments).logits.softmax(-1)[0]
    assert one.probabilities == pytest.approx(
        dict(zip(("no", "yes", "both"), expected.tolist(), strict=True)), rel=1e-4
    )


@pytest.mark.parametrize("name", ["bert, three segments, new gelu", "roberta", "distilbert, classes", "big_bird"])
def test_a_setting_that_a_config_lacks_is_what_transformers_takes(name: str, tmp_path: Path) -> None:
    kind, config, names = READERS[name]
    heads = "n_heads" if config.model_type == "distilbert" else "num_attention_heads"
    usual = copy.deepcopy(config)
    setattr(usual, heads, 12)
    folders.write(tmp_path, kind, usual, names)
    folders.changed(tmp_path, without=[heads])
    theirs = getattr(transformers, kind).from_pretrained(tmp_path).eval()
    tokens, keep = folders.rows_of(LENGTHS, [theirs.config.pad_token_id, *range(8, 20)])
    expected = theirs(input_ids=tokens, attention_mask=keep.long()).logits
    artifact = read_folder(tmp_path)
    got = logits_here(artifact, tokens.clone(), keep)
    seen = keep if expected.dim() == 3 else slice(None)
    folders.close(got[seen], expected[seen])


def test_a_folder_of_half_precision_is_written_in_the_precision_that_was_learned(tmp_path: Path) -> None:
    reader("bert", tmp_path / "theirs").to(torch.bfloat16).save_pretrained(tmp_path / "theirs")
    import_folder(tmp_path / "theirs", tmp_path / "model.safetensors")
    learned = load_artifact(tmp_path / "model.safetensors")
    name = "encoder.layers.0.feedforward.inner.weight"
    save_artifact(
        tmp_path / "model.safetensors", learned.with_weights(learned.weights | {name: learned.weights[name] + 1e-4})
    )
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "again")
    again = transformers.BertForMaskedLM.from_pretrained(tmp_path / "again")
    found = again.bert.encoder.layer[0].intermediate.dense.weight
    assert found.dtype == torch.float32
    assert torch.equal(found, learned.weights[name] + 1e-4)


# Models that write

END = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
LLAMA = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 30}
WRITERS = {
    "gpt2": GPT2Config(n_layer=2, n_embd=24, n_head=3, n_positions=40),
    "llama": LlamaConfig(**LLAMA, num_key_value_heads=2),
    "llama, one key head, tied": LlamaConfig(
        **LLAMA, num_key_value_heads=1, tie_word_embeddings=True, rms_norm_eps=1e-4, hidden_act="gelu",
        rope_parameters={"rope_theta": 500.0, "rope_type": "default"},
    ),
    "qwen2": Qwen2Config(**LLAMA, num_key_value_heads=2),
    "gpt2, wide, untied": GPT2Config(
        n_layer=1, n_embd=24, n_head=4, n_inner=30, n_positions=40, tie_word_embeddings=False,
        activation_function="relu", layer_norm_epsilon=1e-3,
    ),
}  # fmt: skip


def writer(name: str, folder: Path) -> Any:
    config = WRITERS[name]
    kind = {"gpt2": "GPT2LMHeadModel", "llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}[config.model_type]
    return folders.write(folder, kind, config, ENDS if config.model_type == "llama" else END)


@pytest.mark.parametrize("name", WRITERS)
def test_logits_of_writers_are_the_same_with_and_without_a_cache(name: str, tmp_path: Path) -> None:
    theirs = writer(name, tmp_path)
    artifact = read_folder(tmp_path)
    order = artifact.extras["huggingface"]["order"]
    new = {old: at for at, old in enumerate(order) if old is not None}
    back = torch.tensor([new[old] for old in range(len(new))])
    tokens = torch.randint(0, theirs.config.vocab_size, (3, 12), generator=torch.Generator().manual_seed(1))
    expected = theirs(tokens).logits
    ids = tokens.clone().apply_(lambda old: new[old])
    model = artifact.model()
    with torch.no_grad():
        whole = model(None, None, ids)
        state = model.start(None, None, rows=3)
        for at in range(12):
            logits, state = model.step(ids[:, at], state)
            folders.close(logits[:, back], expected[:, at])
    folders.close(whole[..., back], expected)
    folders.close(whole.log_softmax(-1)[..., back], expected.log_softmax(-1))  # tokens that are not there count nothing
    import_folder(tmp_path, tmp_path / "model.safetensors")
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "again")
    again = type(theirs).from_pretrained(tmp_path / "again").eval()
    folders.close(again(tokens).logits, expected, 1e-6)


@pytest.mark.parametrize("name", WRITERS)
def test_greedy_texts_are_the_same(name: str, tmp_path: Path) -> None:
    theirs = writer(name, tmp_path)
    import_folder(tmp_path, tmp_path / "model.safetensors")
    generator = regard.load(tmp_path / "model.safetensors")
    tokenizer = folders.tokenizer(ENDS if theirs.config.model_type == "llama" else END)
    order = load_artifact(tmp_path / "model.safetensors").extras["huggingface"]["order"]
    for text in folders.TEXTS:
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
        never = [order[token] for token in (PAD, UNK, BOS) if order[token] is not None]  # as everywhere here
        how = {"max_new_tokens": 15, "pad_token_id": tokenizer.eos_token_id, "suppress_tokens": never or None}
        made = theirs.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, **how)
        expected = made[0, ids.shape[1] :].tolist()
        (found,) = generator.generate([text], Greedy(max_length=15))[0]
        got = [order[token] for token in found.tokens]
        assert [*got, tokenizer.eos_token_id][: len(expected)] == expected


# Models that were trained here


def test_a_model_of_ours_is_loaded_there(tmp_path: Path) -> None:
    subwords = vocabulary()
    for design, task in ((Bert(layers=2, width=16, heads=2), "masked"), (Gpt(layers=2, width=16, heads=2), "language")):
        model = design.build({"text": len(subwords)}).eval()
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.2 * torch.randn_like(weight)
        name = {"masked": "bert", "language": "gpt"}[task]
        table = {"name": name, "layers": 2, "width": 16, "heads": 2}
        made = Artifact(
            config={"model": table}, task=task, sizes={"text": len(subwords)}, tokenizers={"text": subwords.to_json()}
        )
        save_artifact(tmp_path / f"{name}.safetensors", made.with_weights(model.state_dict()))
        export_huggingface(tmp_path / f"{name}.safetensors", tmp_path / name)
        kind = transformers.AutoModelForMaskedLM if task == "masked" else transformers.AutoModelForCausalLM
        theirs = kind.from_pretrained(tmp_path / name).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / name)
        ids = tokenizer("the cat sat", return_tensors="pt")["input_ids"]
        inner = subwords.encode("the cat sat")
        assert ids[0].tolist() == ([2, *inner, 3] if task == "masked" else inner)
        with torch.no_grad():
            ours = (
                model.output(model(ids, torch.tensor([ids.shape[1]]))) if task == "masked" else model(None, None, ids)
            )
            folders.close(theirs(ids).logits, ours)


def test_a_setting_that_is_not_there_is_refused_by_its_name(tmp_path: Path) -> None:
    subwords = vocabulary()
    table = {"name": "bert", "layers": 1, "width": 16, "heads": 2, "mask": "window(4)"}
    made = Artifact(
        config={"model": table}, task="masked", sizes={"text": len(subwords)}, tokenizers={"text": subwords.to_json()}
    )
    save_artifact(tmp_path / "m.safetensors", made.with_weights(made.design().build(made.sizes).state_dict()))
    with pytest.raises(UsageError, match=r"model.mask is Window.*, which 'bert' of transformers cannot express"):
        export_huggingface(tmp_path / "m.safetensors", tmp_path / "out")
    assert not (tmp_path / "out").exists()


# Mistakes


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"attention_bias": True}, "attention_bias is True, but only False can be read"),
        (
            {"rope_parameters": {"rope_type": "llama3", "rope_theta": 1.0}},
            "rope_parameters of the type 'llama3' are not",
        ),
        (
            {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}},
            "config.json: rope_parameters has partial_rotary_factor, but rope_theta alone can be read",
        ),
        ({"head_dim": 8}, "config.json: head_dim is 8, but only width / heads, 6, can be read"),
    ],
)
def test_other_kinds_of_llama_are_refused(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    writer("llama", tmp_path)
    folders.changed(tmp_path, **settings)
    with pytest.raises(RegardError, match=sentence):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model_type": "deberta"}, r"config.json: model_type: unknown 'deberta'.*; those that are read are: bert, "),
        (
            {"architectures": ["BertForQuestionAnswering"]},
            r"the architecture BertForQuestionAnswering is not read; those are: ",
        ),
        ({"is_decoder": True}, r"config.json: is_decoder is True, but only False can be read"),
        (
            {"position_embedding_type": "relative_key"},
            r"position_embedding_type is 'relative_key', but only 'absolute'",
        ),
        ({"window_size": 7}, r"the setting 'window_size' of bert is not known here, so it is not read"),
        ({"num_attention_heads": 0}, r"config.json: num_attention_heads is 0, but must be at least 1"),
        ({"hidden_size": "24"}, r"config.json: hidden_size is '24', but must be a whole number, as in 768"),
        ({"num_hidden_layers": None}, r"config.json: num_hidden_layers is None, but must be a whole number"),
        ({"hidden_act": "mish"}, r"config.json: hidden_act: activation: unknown 'mish'"),
        ({"intermediate_size": 41}, r"give a tensor of shape \[40, 24\], but config.json asks for \[41, 24\]"),
        ({"vocab_size": 9}, r"tokens up to number 27, but the model has 9 embeddings; it belongs to another model"),
        (
            {"num_hidden_layers": 3},
            r"has no tensor 'bert.encoder.layer.2.attention.self.query.weight', which the model",
        ),
        ({"num_hidden_layers": 1}, r"has a tensor 'bert.encoder.layer.1.*', which the model does not know"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    reader("bert", tmp_path)
    folders.changed(tmp_path, **settings)
    with pytest.raises(RegardError, match=sentence) as caught:
        import_folder(tmp_path, tmp_path / "model.safetensors.out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model.safetensors.out").exists()


# Tied tensors whose copies differ


def _changed_tensor(folder: Path, copy: str, first: str, *, apart: bool) -> None:
    tensors = load_file(folder / "model.safetensors")
    tensors[copy] = tensors[first].clone() + (torch.randn(tensors[first].shape) if apart else 0.0)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_an_output_that_differs_from_its_embeddings_is_not_tied(tmp_path: Path) -> None:
    folders.write(tmp_path, "GPT2LMHeadModel", WRITERS["gpt2"], END)
    assert read_folder(tmp_path).config["model"]["tie"] == "target"
    _changed_tensor(tmp_path, "lm_head.weight", "transformer.wte.weight", apart=False)
    assert read_folder(tmp_path).config["model"]["tie"] == "target"
    _changed_tensor(tmp_path, "lm_head.weight", "transformer.wte.weight", apart=True)
    artifact = read_folder(tmp_path)
    assert artifact.config["model"]["tie"] == "none"
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    order = artifact.extras["huggingface"]["order"]
    ids = torch.randint(0, theirs.config.vocab_size, (2, 7), generator=torch.Generator().manual_seed(1))
    new = {old: at for at, old in enumerate(order) if old is not None}
    with torch.no_grad():
        got = artifact.model()(None, None, ids.clone().apply_(lambda old: new[old]))
        folders.close(got[..., torch.tensor([new[old] for old in range(len(new))])], theirs(ids).logits)


def test_a_tensor_under_the_name_of_its_copy_is_read(tmp_path: Path) -> None:
    folders.write(tmp_path, "GPT2LMHeadModel", WRITERS["gpt2"], END)
    tensors = load_file(tmp_path / "model.safetensors")
    expected = read_folder(tmp_path).weights
    tensors["lm_head.weight"] = tensors.pop("transformer.wte.weight")
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    assert torch.equal(read_folder(tmp_path).weights["target.table.weight"], expected["target.table.weight"])


def test_another_copy_that_differs_is_refused_by_name(tmp_path: Path) -> None:
    reader("bert", tmp_path)
    _changed_tensor(tmp_path, "cls.predictions.decoder.bias", "cls.predictions.bias", apart=True)
    sentence = (
        "cls.predictions.decoder.bias differs from cls.predictions.bias, but only one tensor for both can be read"
    )
    with pytest.raises(RegardError, match=sentence):
        read_folder(tmp_path)


def test_what_a_search_lacks_is_noted_on_import(tmp_path: Path) -> None:
    writer("llama", tmp_path)
    said = {"do_sample": True, "temperature": 0.6, "repetition_penalty": 1.1}
    (tmp_path / "generation_config.json").write_text(json.dumps(said), encoding="utf-8")
    made = import_folder(tmp_path, tmp_path / "model.safetensors.made")
    assert len(made.notes) == 1
    assert "generation_config.json: repetition_penalty is 1.1, which searches here do not have" in made.notes[0]
    table = read_folder(tmp_path).config["decoding"]
    assert table == {"name": "sample", "max_length": 100, "temperature": 0.6, "top_k": 50, "top_p": 1.0}


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"num_beams": -5}, "decoding: beam: size must be at least 1, but is -5"),
        ({"do_sample": True, "top_p": 7.0}, "decoding: sample: top_p must be more than 0 and at most 1, but is 7.0"),
        ({"do_sample": True, "max_new_tokens": -3}, "decoding: sample: max_length must be at least 1"),
    ],
)
def test_a_search_that_cannot_be_done_is_refused_on_import(said: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    writer("llama", tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(RegardError, match=sentence):
        import_folder(tmp_path, tmp_path / "made.safetensors")
    assert not (tmp_path / "made.safetensors").exists()


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "none"])
@pytest.mark.parametrize("name", ["bert", "gpt"])
def test_other_positions_are_refused_by_name(name: str, positions: str, tmp_path: Path) -> None:
    subwords = vocabulary()
    made = Artifact(
        config={"model": {"name": name, "layers": 1, "width": 16, "heads": 2, "positions": positions}},
        task="masked" if name == "bert" else "language",
        sizes={"text": len(subwords)},
        tokenizers={"text": subwords.to_json()},
    )
    save_artifact(tmp_path / "m.safetensors", made.with_weights(made.design().build(made.sizes).state_dict()))
    with pytest.raises(UsageError, match=r"model.positions is .*, which '(bert|gpt2)' of transformers cannot express"):
        export_huggingface(tmp_path / "m.safetensors", tmp_path / "out")
    assert not (tmp_path / "out").exists()
