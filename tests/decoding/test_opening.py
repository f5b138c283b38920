"""What a model file says of decoding."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.opening import source_language_of, split_of, strategy_of, subwords_of
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.loading import load
from regard.runs.artifact import Artifact, load_artifact, save_artifact

TEXTS = ["the dog sees the cat", "the cat finds a house"]
SEQ2SEQ = {"name": "seq2seq", "width": 8}
GPT = {"name": "gpt", "width": 8, "heads": 2, "layers": 1}


def words(texts: list[str] = TEXTS) -> Subwords:
    return learn_subwords(texts, SubwordSettings(kind="word", min_count=1))


def saved(
    path: Path, model: dict[str, Any] = SEQ2SEQ, seed: int = 0, subwords: Subwords | None = None, **config: Any
) -> Path:
    """A model with random weights, as a file."""
    subwords, one_side = subwords or words(), model["name"] == "gpt"
    sides = ("text",) if one_side else ("source", "target")
    tokenizers = dict.fromkeys(sides, subwords.to_json())
    extras: Mapping[str, Any] = {} if one_side else {"max_source": 9}
    artifact = Artifact(
        config={"model": model, **config},
        task="language" if one_side else "translate",
        sizes=dict.fromkeys(sides, len(subwords)),
        tokenizers=tokenizers,
        extras=extras,
    )
    torch.manual_seed(seed)
    save_artifact(path, artifact.with_weights(artifact.design().build(artifact.sizes).state_dict()))
    return path


def test_the_models_own_strategy_unless_another_is_given(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors", decoding={"name": "beam", "size": 3, "length_penalty": 0.5})
    assert strategy_of(load_artifact(file)) == Beam(size=3, length_penalty=0.5)
    assert load(file).strategy == Beam(size=3, length_penalty=0.5)
    assert load(file, Greedy()).strategy == Greedy()
    other = saved(tmp_path / "b.safetensors", decoding={"name": "beem"})
    with pytest.raises(UsageError, match=r"b\.safetensors: decoding: unknown 'beem' \(did you mean 'beam'\?\)"):
        load(other)


def test_vocabularies_of_two_languages_stay_two(tmp_path: Path) -> None:
    artifact = load_artifact(saved(tmp_path / "a.safetensors"))
    pair = subwords_of(artifact)
    assert pair.source is pair.target
    other = words(["eins zwei drei"]).to_json()
    mixed = Artifact(
        config=artifact.config,
        task="translate",
        sizes={**artifact.sizes, "target": len(words(["eins zwei drei"]))},
        tokenizers={"source": artifact.tokenizers["source"], "target": other},
    )
    with pytest.raises(RegardError, match="its tokenizer of the target has 7 pieces, but the model was built for 11"):
        subwords_of(replace(mixed, sizes=artifact.sizes))
    assert subwords_of(mixed).target.to_json() == other
    assert subwords_of(mixed).source.to_json() == artifact.tokenizers["source"]


def test_what_is_translated_at_a_time_and_the_language_come_with_the_model(tmp_path: Path) -> None:
    artifact = load_artifact(saved(tmp_path / "a.safetensors"))
    assert (split_of(artifact), source_language_of(artifact)) == ("sentence", None)
    assert split_of(artifact.with_extras(split="line")) == "line"
    assert split_of(artifact.with_extras(split="other")) == "sentence"
    named = load_artifact(saved(tmp_path / "b.safetensors", name="pt_BR-en"))
    assert source_language_of(named) == "pt"
    told = load_artifact(saved(tmp_path / "c.safetensors", name="run", data={"source": "de", "target": "en"}))
    assert source_language_of(told) == "de"
    assert load(tmp_path / "c.safetensors").language == "de"
