"""Folders of Marian and Pegasus: the same numbers and translations here and in transformers, both ways."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import MarianConfig, PegasusConfig

from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import BOS, EOS, PAD, UNK, Subwords
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.interop.family import standing_for
from regard.interop.huggingface import export_huggingface, import_folder, read_folder
from regard.runs.artifact import Artifact, save_artifact
from tests.decoding.readers import vocabulary
from tests.interop import hf_folders as folders

NAMES = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
SIZES: dict[str, Any] = {
    "d_model": 24, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 3, "decoder_attention_heads": 3,
    "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 64,
}  # fmt: skip
KINDS: dict[str, tuple[str, Any]] = {
    "swish, scaled": ("MarianMTModel", MarianConfig(**SIZES, activation_function="swish", scale_embedding=True)),
    "relu": ("MarianMTModel", MarianConfig(**SIZES, activation_function="relu")),
    "pegasus": ("PegasusForConditionalGeneration", PegasusConfig(**SIZES, scale_embedding=True)),
}


def written(folder: Path, name: str = "swish, scaled", *, lively: bool = False) -> Any:
    """A folder with random weights; those of a lively one write texts that depend on their sources, and that end."""
    kind, config = KINDS[name]
    end = folders.tokenizer(NAMES).eos_token_id
    theirs = folders.write(folder, kind, type(config)(**{**config.to_dict(), "forced_eos_token_id": end}), NAMES)
    with torch.no_grad():
        if not lively:
            theirs.final_logits_bias += torch.randn(theirs.final_logits_bias.shape)
        else:
            theirs.model.shared.weight *= 3
            theirs.final_logits_bias[0, end] += 3
            for layer in theirs.model.decoder.layers:
                layer.encoder_attn.out_proj.weight *= 6
                layer.encoder_attn.v_proj.weight *= 6
    theirs.save_pretrained(folder)
    return theirs


@pytest.mark.parametrize("name", KINDS)
def test_logits_are_the_same_with_padding_and_cache(name: str, tmp_path: Path) -> None:
    folders.logits_both_ways(tmp_path, written(tmp_path, name), [9, 4, 20], 15)


SENTENCES = 200


@pytest.mark.parametrize(("stopping", "patience"), [(True, 1.0), ("never", None)])
def test_beam_search_gives_the_same_translations(stopping: Any, patience: float | None, tmp_path: Path) -> None:
    """200 sentences, beam 4; `early_stopping` true ends like patience 1, "never" like none.

    Outputs that reach the longest length are left out: there the forced `</s>` costs nothing in transformers, while
    here a score is always the model's own log-probability.
    """
    theirs = written(tmp_path, lively=True)
    artifact = read_folder(tmp_path)
    order, tokenizer = artifact.extras["huggingface"]["order"], folders.tokenizer(NAMES)
    pad, eos = tokenizer.pad_token_id, tokenizer.eos_token_id
    words = [pad, *(at for at in range(len(tokenizer)) if at not in (pad, eos, tokenizer.unk_token_id))]
    lengths = [2 + at % 9 for at in range(SENTENCES)]
    source, keep = folders.rows_of(lengths, words)
    source[torch.arange(SENTENCES), torch.tensor(lengths) - 1] = eos
    never = sorted({order[token] for token in (PAD, UNK, BOS)})
    how: dict[str, Any] = {
        "num_beams": 4,
        "max_length": 42,
        "early_stopping": stopping,
        "length_penalty": 0.8,
        "do_sample": False,
    }
    how["no_repeat_ngram_size"] = 2  # a random model would say one word for ever
    made = theirs.generate(source, attention_mask=keep.long(), suppress_tokens=never, **how)
    back = standing_for(order)
    ids = source.clone().apply_(lambda old: back[old]) * keep
    strategy = Beam(size=4, max_length=40, length_penalty=0.8, patience=patience, no_repeat_ngram=2)
    found = search(artifact.model(), ids, keep.sum(1), strategy)
    compared = 0
    for row, (best,) in zip(made.tolist(), found, strict=True):
        expected = [token for token in row[1:] if token not in (pad, eos)]
        if len(expected) < 40 and not best.cut:
            assert [order[token] for token in best.tokens] == expected
            compared += 1
    assert compared > 0.9 * SENTENCES
    assert len({best.tokens for (best,) in found}) > SENTENCES // 3


def test_their_own_stopping_is_never_better(tmp_path: Path) -> None:
    """`early_stopping` false stops by a guess: no better end is expected. Without patience the search here is exact."""
    theirs = written(tmp_path, lively=True)
    (tmp_path / "generation_config.json").write_text(json.dumps({"num_beams": 4, "max_length": 42}), encoding="utf-8")
    artifact = read_folder(tmp_path)
    assert artifact.config["decoding"] == {
        "name": "beam", "size": 4, "patience": None, "max_length": 40, "length_penalty": 1.0,
    }  # fmt: skip
    order = artifact.extras["huggingface"]["order"]
    source = torch.tensor([[at % 5 + 8, at % 7 + 9, at % 11 + 10, theirs.config.eos_token_id] for at in range(40)])
    never = sorted({order[token] for token in (PAD, UNK, BOS)})
    made = theirs.generate(
        source, suppress_tokens=never, early_stopping=False, return_dict_in_generate=True, output_scores=True,
        num_beams=4, max_length=42, do_sample=False, no_repeat_ngram_size=2,
    )  # fmt: skip
    back = standing_for(order)
    ids = source.clone().apply_(lambda old: back[old])
    found = search(
        artifact.model(), ids, torch.full((40,), 4), Beam(size=4, max_length=40, patience=None, no_repeat_ngram=2)
    )
    for theirs_score, (best,) in zip(made.sequences_scores.tolist(), found, strict=True):
        assert best.cut or best.rank >= theirs_score - 1e-4


# Models that were trained here


def ours(folder: Path, source: Subwords, target: Subwords, **settings: Any) -> Any:
    table = {
        "name": "transformer",
        "encoder_layers": 2,
        "decoder_layers": 2,
        "width": 16,
        "heads": 2,
        "feedforward": 24,
        **settings,
    }
    sizes = {"source": len(source), "target": len(target)}
    tokenizers = {"source": source.to_json(), "target": target.to_json()}
    made = Artifact(config={"model": table}, task="translate", sizes=sizes, tokenizers=tokenizers)
    model = made.design().build(sizes).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.2 * torch.randn_like(weight)
    save_artifact(folder / "model.safetensors", made.with_weights(model.state_dict()))
    return model


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("marian", {"norm_place": "after", "activation": "silu"}),
        ("marian", {"norm_place": "after", "output_bias": "learned", "tie": "target"}),
        ("marian", {"norm_place": "after", "tie": "none"}),
        ("pegasus", {}),
    ],
)
def test_a_transformer_of_ours_is_loaded_there(kind: str, settings: dict[str, Any], tmp_path: Path) -> None:
    source = vocabulary()
    target = source if settings.get("tie", "all") == "all" else source.with_specials(["<x>"])
    model = ours(tmp_path, source, target, **settings)
    export_huggingface(tmp_path / "model.safetensors", tmp_path / "there")
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "there").eval()
    assert theirs.config.model_type == kind
    ids = transformers.AutoTokenizer.from_pretrained(tmp_path / "there")("two dogs play")["input_ids"]
    assert ids == [*source.encode("two dogs play"), 3]
    rows, keep = folders.rows_of([7, 5, 3], list(range(len(source))))
    said = torch.randint(4, len(target), (3, 6), generator=torch.Generator().manual_seed(2))
    said[:, 0] = BOS
    with torch.no_grad():
        expected = model(rows, keep.sum(1), said)
        got = theirs(input_ids=rows, attention_mask=keep.long(), decoder_input_ids=said).logits
        folders.close(got, expected)
        best = theirs.generate(rows[:1], num_beams=1, max_new_tokens=6, do_sample=False, suppress_tokens=[0, 1, 2])
    (mine,) = search(model, rows[:1], torch.tensor([7]), Greedy(max_length=5))[0]
    assert best[0, 1:].tolist()[: len(mine.tokens)] == list(mine.tokens)
    again = read_folder(tmp_path / "there")
    assert again.config["model"]["norm_place"] == settings.get("norm_place", "before")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"positions": "learned(20)"}, r"model.positions is Learned.*, which 'pegasus' of transformers cannot express"),
        ({"key_heads": 1}, r"model.key_heads is 1, which 'pegasus' of transformers cannot express"),
        ({"norm_place": "after", "norm_epsilon": 1e-6}, r"model.norm_epsilon is 1e-06, which 'marian'"),
        ({"feed": "gated"}, r"model.feed is Gated"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    ours(tmp_path, vocabulary(), vocabulary(), **settings)
    with pytest.raises(UsageError, match=sentence):
        export_huggingface(tmp_path / "model.safetensors", tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"decoder_ffn_dim": 50}, r"encoder_ffn_dim is 40 and decoder_ffn_dim 50, but must be equal"),
        ({"normalize_before": True}, r"normalize_before is True, but only False can be read"),
        ({"tie_word_embeddings": False}, r"has no tensor 'model.decoder.embed_tokens.weight', which the model needs"),
        ({"activation_function": "mish"}, r"activation_function: activation: unknown 'mish'"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    written(tmp_path)
    folders.changed(tmp_path, **settings)
    with pytest.raises(RegardError, match=sentence):
        import_folder(tmp_path, tmp_path / "out.safetensors")
    assert not (tmp_path / "out.safetensors").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"repetition_penalty": 1.2}, r"repetition_penalty is 1.2, .*; set it to 1.0, or leave it out"),
        ({"forced_bos_token_id": 5}, r"forced_bos_token_id is 5, .*; set it to null"),
        ({"do_sample": True, "num_beams": 4}, "do_sample with num_beams 4 draws beams, which searches here do not"),
        ({"typical_p": 0.9}, "typical_p is 0.9, which searches here do not have; set it to 1.0"),
        ({"surprise": 1}, "the setting 'surprise' is not known here"),
        ({"bad_words_ids": [[7, 8]]}, r"bad_words_ids has \[7, 8\], but searches here can leave out <pad> alone"),
    ],
)
def test_searches_of_another_kind_are_refused_by_name(settings: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "generation_config.json").write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(RegardError, match=f"generation_config.json: {sentence}"):
        read_folder(tmp_path)


def test_the_shortest_output_is_theirs(tmp_path: Path) -> None:
    """Their `min_length` counts the token that the decoder starts after."""
    theirs = written(tmp_path, lively=True)
    (tmp_path / "generation_config.json").write_text('{"min_length": 9, "max_length": 42}', encoding="utf-8")
    artifact = read_folder(tmp_path)
    assert artifact.config["decoding"] == {"name": "greedy", "min_length": 8, "max_length": 40}
    order = artifact.extras["huggingface"]["order"]
    source = torch.tensor([[at % 5 + 8, at % 7 + 9, at % 11 + 10, theirs.config.eos_token_id] for at in range(40)])
    never = sorted({order[token] for token in (PAD, UNK, BOS)})
    made = theirs.generate(source, suppress_tokens=never, min_length=9, max_length=42, num_beams=1, do_sample=False)
    back = standing_for(order)
    ids = source.clone().apply_(lambda old: back[old])
    found = search(artifact.model(), ids, torch.full((40,), 4), Greedy(min_length=8, max_length=40))
    for row, (best,) in zip(made.tolist(), found, strict=True):
        whole = [back[old] for old in row[1:]]
        ended = whole[: whole.index(EOS)] if EOS in whole else whole
        assert list(best.tokens) == ended
        assert len(ended) >= 8


def test_a_search_without_numbers_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"num_beams": "many"}', encoding="utf-8")
    with pytest.raises(RegardError, match=r"generation_config.json: num_beams is 'many', which is no whole number"):
        read_folder(tmp_path)
