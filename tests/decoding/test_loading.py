"""From a file, or the folder of a run, to something that translates or writes."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.base.errors import RegardError, UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import Subwords
from regard.decoding.generator import Generator
from regard.decoding.loading import load, model_file, strategy_of, subwords_of
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.translator import Translator
from regard.layers.inference import precision
from regard.layers.inference.int8 import Int8Linear
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
    sizes = (0 if one_side else len(subwords), len(subwords))
    sides = ("text",) if one_side else ("source", "target")
    tokenizers = dict.fromkeys(sides, subwords.to_json())
    extras: Mapping[str, Any] = {} if one_side else {"max_source": 9}
    artifact = Artifact(config={"model": model, **config}, vocabularies=sizes, tokenizers=tokenizers, extras=extras)
    torch.manual_seed(seed)
    save_artifact(path, artifact.with_weights(artifact.design().build(artifact.sizes).state_dict()))
    return path


def test_a_file_becomes_a_translator(tmp_path: Path) -> None:
    translator = load(saved(tmp_path / "a.safetensors"))
    assert isinstance(translator, Translator)
    assert translator.max_source == 9
    assert translator.strategy == Beam()
    assert translator.source is translator.target  # one vocabulary
    assert not translator.models[0].training
    assert len(translator.translate(TEXTS)) == 2


def test_a_path_may_be_a_text_or_the_folder_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    file = saved(tmp_path / "run" / "model.safetensors")
    assert model_file(tmp_path / "run") == model_file(str(file)) == file
    first, second = load(str(tmp_path / "run")), load(file)
    assert isinstance(first, Translator)
    assert isinstance(second, Translator)
    assert first.score(TEXTS, TEXTS) == second.score(TEXTS, TEXTS)


def test_a_language_model_becomes_a_generator(tmp_path: Path) -> None:
    generator = load(saved(tmp_path / "a.safetensors", GPT))
    assert isinstance(generator, Generator)
    assert generator.strategy == Sample(max_length=100)
    assert len(generator.score(TEXTS)) == 12


def test_the_models_own_strategy_unless_another_is_given(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors", decoding={"name": "beam", "size": 3, "length_penalty": 0.5})
    assert strategy_of(load_artifact(file)) == Beam(size=3, length_penalty=0.5)
    assert load(file).strategy == Beam(size=3, length_penalty=0.5)
    assert load(file, Greedy()).strategy == Greedy()
    other = saved(tmp_path / "b.safetensors", decoding={"name": "beem"})
    with pytest.raises(UsageError, match=r"b\.safetensors: decoding: unknown 'beem' \(did you mean 'beam'\?\)"):
        load(other)


def test_an_ensemble_averages_probabilities(tmp_path: Path) -> None:
    files = [saved(tmp_path / f"{seed}.safetensors", seed=seed) for seed in (1, 2)]
    first, second, both = (load(paths) for paths in (files[0], files[1], files))
    assert isinstance(both, Translator)
    assert len(both.models) == 2
    rows = [one.score(TEXTS, TEXTS) for one in (first, second, both)]
    for one, other, mean in zip(*(sum(row, ()) for row in rows), strict=True):
        assert mean == pytest.approx(math.log((math.exp(one) + math.exp(other)) / 2), abs=1e-5)


def test_an_ensemble_shares_its_subwords(tmp_path: Path) -> None:
    first = saved(tmp_path / "a.safetensors")
    other = saved(tmp_path / "b.safetensors", subwords=words(["quite another text, as long as the other"]))
    with pytest.raises(UsageError, match=r"b\.safetensors: its subwords differ from those of .*a\.safetensors"):
        load([first, other])
    with pytest.raises(UsageError, match="its subwords differ"):
        load([first, saved(tmp_path / "lm.safetensors", GPT)])


def test_vocabularies_of_two_languages_stay_two(tmp_path: Path) -> None:
    artifact = load_artifact(saved(tmp_path / "a.safetensors"))
    pair = subwords_of(artifact)
    assert pair.source is pair.target
    other = words(["eins zwei drei"]).to_json()
    mixed = Artifact(
        config=artifact.config,
        vocabularies=artifact.vocabularies,
        tokenizers={"source": artifact.tokenizers["source"], "target": other},
    )
    assert subwords_of(mixed).target.to_json() == other
    assert subwords_of(mixed).source.to_json() == artifact.tokenizers["source"]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give a model file, or the folder of a run"):
        load([])
    with pytest.raises(UsageError, match="nowhere: there is no such file or folder"):
        load(tmp_path / "nowhere")
    with pytest.raises(RegardError, match="this folder holds no run"):
        load(tmp_path)
    (tmp_path / "run.toml").write_text("", encoding="utf-8")
    with pytest.raises(RegardError, match="its training is not finished yet; `regard train` goes on with it"):
        load(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors")
    whole = file.read_bytes()
    for size in (0, 5, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        with pytest.raises(RegardError, match=r"a\.safetensors: "):
            load(file)


def test_a_shortlist_is_taken_when_asked_for(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors")
    with pytest.raises(UsageError, match=r"a\.safetensors: has no shortlist; `regard shortlist` makes one"):
        load(file, shortlist=True)
    artifact, size = load_artifact(file), len(words())
    kept = Shortlist([np.arange(5)] * size, np.array([4]), size)
    save_artifact(file, artifact.with_extras(shortlist=kept.to_extras()))
    translator = load(file, shortlist=True)
    assert isinstance(translator, Translator)
    assert translator.shortlist is not None
    assert translator.shortlist.frequent.tolist() == [4]
    plain = load(file)
    assert isinstance(plain, Translator)
    assert plain.shortlist is None
    with pytest.raises(UsageError, match="precision: unknown 'int9'"):
        load(file, precision="int9")


@pytest.mark.usefixtures("int8")
def test_int8_is_taken_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(tmp_path / "a.safetensors")
    monkeypatch.setattr(precision, "LEAST", 1)
    assert isinstance(load(file, precision="int8").models[0].output, Int8Linear)
