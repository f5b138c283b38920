"""From a file, or the folder of a run, to something that translates or writes."""

import math
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.alignment.aligner import Aligner
from regard.base.config import to_dict
from regard.base.errors import ConfigError, RegardError, UsageError
from regard.decoding.generator import Generator
from regard.decoding.shortlist import Shortlist
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.translator import Translator
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.interop.ctranslate2_translator import CTranslate2Translator
from regard.layers.inference import precision
from regard.layers.inference.int8 import Int8Linear
from regard.loading import load
from regard.models.gpt import Gpt
from regard.models.model import Design
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact, load_artifact, save_artifact
from regard.runs.folder import model_file
from tests.alignment.test_cross_weights import DESIGNS
from tests.data.examples import LINES, subwords
from tests.decoding.test_opening import GPT, saved, words
from tests.decoding.test_opening import TEXTS as WORDS
from tests.interop.examples import SMALL, write

TEXTS = list(dict.fromkeys(LINES))


def test_torch_computes_unless_another_engine_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "model.safetensors", Transformer(**SMALL))
    assert type(load(file)) is Translator
    with pytest.raises(ConfigError, match=r"load.engine: unknown 'ctranslate'.*did you mean 'ctranslate2'"):
        load(file, engine="ctranslate")
    with pytest.raises(UsageError, match="takes one model, not 2; an ensemble needs torch"):
        load([file, file], engine="ctranslate2")


def test_a_file_becomes_a_translator(tmp_path: Path) -> None:
    translator = load(saved(tmp_path / "a.safetensors"))
    assert isinstance(translator, Translator)
    assert translator.max_source == 9
    assert translator.strategy == Beam()
    assert translator.source is translator.target  # one vocabulary
    assert not translator.models[0].training
    assert len(translator.translate(WORDS)) == 2


def test_a_path_may_be_a_text_or_the_folder_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    file = saved(tmp_path / "run" / "model.safetensors")
    assert model_file(tmp_path / "run") == model_file(str(file)) == file
    first, second = load(str(tmp_path / "run")), load(file)
    assert isinstance(first, Translator)
    assert isinstance(second, Translator)
    assert first.score(WORDS, WORDS) == second.score(WORDS, WORDS)


def test_a_language_model_becomes_a_generator(tmp_path: Path) -> None:
    generator = load(saved(tmp_path / "a.safetensors", GPT))
    assert isinstance(generator, Generator)
    assert generator.strategy == Sample(max_length=100)
    assert len(generator.score(WORDS)) == 12


def test_an_ensemble_averages_probabilities(tmp_path: Path) -> None:
    files = [saved(tmp_path / f"{seed}.safetensors", seed=seed) for seed in (1, 2)]
    first, second, both = (load(paths) for paths in (files[0], files[1], files))
    assert isinstance(both, Translator)
    assert len(both.models) == 2
    rows = [one.score(WORDS, WORDS) for one in (first, second, both)]
    for one, other, mean in zip(*(sum(row, ()) for row in rows), strict=True):
        assert mean == pytest.approx(math.log((math.exp(one) + math.exp(other)) / 2), abs=1e-5)


def test_an_ensemble_shares_its_subwords(tmp_path: Path) -> None:
    first = saved(tmp_path / "a.safetensors")
    other = saved(tmp_path / "b.safetensors", subwords=words(["quite another text, as long as the other"]))
    with pytest.raises(UsageError, match=r"b\.safetensors: its subwords differ from those of .*a\.safetensors"):
        load([first, other])
    with pytest.raises(UsageError, match=r"lm\.safetensors: its task is language, but that of .* is translate"):
        load([first, saved(tmp_path / "lm.safetensors", GPT)])


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


# Alignments


def written(path: Path, name: str, design: Design, **extras: object) -> Path:
    known = subwords()
    tokenizers = {side: known.to_json() for side in ("source", "target", "text")}
    model = design.build(dict.fromkeys(design.needs, len(known)))
    artifact = Artifact(
        config={"model": {"name": name, **to_dict(design)}},
        task="language" if name == "gpt" else "translate",
        sizes=dict.fromkeys(design.needs, len(known)),
        weights=model.state_dict(),
        tokenizers=tokenizers,
        extras=extras,
    )
    save_artifact(path, artifact)
    return path


@pytest.mark.parametrize("name", ["transformer", "seq2seq"])
def test_alignments_just_work(name: str, tmp_path: Path) -> None:
    design = DESIGNS["transformer" if name == "transformer" else "previous"]
    translator = regard.load(written(tmp_path / "model.safetensors", name, design))
    assert isinstance(translator, Translator)
    (found,) = translator.translate(LINES[:1], strategy=Greedy(min_length=2, max_length=5), alignments=True)
    assert found.alignment


def test_it_is_public() -> None:
    assert "load" in regard.__all__
    assert "load" in dir(regard)


def test_the_heads_of_the_file_are_used(tmp_path: Path) -> None:
    chosen = {"heads": [["decoder.layers.1.cross", 1]], "shift": 1, "measure": "gold links", "score": 0.5}
    file = written(tmp_path / "model.safetensors", "transformer", DESIGNS["transformer"], alignment=chosen)
    translator = load(file)
    assert isinstance(translator, Translator)
    assert isinstance(translator.aligner, Aligner)
    assert translator.aligner.heads.to_dict() == chosen


def test_a_model_that_attends_to_no_source_has_no_aligner(tmp_path: Path) -> None:
    translator = load(written(tmp_path / "a.safetensors", "seq2seq", Seq2seq(width=8, attention=None)))
    assert isinstance(translator, Translator)
    assert translator.aligner is None
    with pytest.raises(UsageError, match="no aligner"):
        translator.translate(["A dog"], alignments=True)
    writer = load(written(tmp_path / "b.safetensors", "gpt", Gpt(layers=1, width=8, heads=2)))
    assert not isinstance(writer, Translator)


def test_what_is_expected_is_checked(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors", GPT)
    assert isinstance(load(file, expect=Generator), Generator)
    with pytest.raises(
        UsageError, match=r"a\.safetensors: its task is language, which gives a Generator, not a Translator"
    ):
        load(file, expect=Translator)


def test_a_strategy_may_be_a_text(tmp_path: Path) -> None:
    file = saved(tmp_path / "a.safetensors")
    assert load(file, "beam(size=3)").strategy == Beam(size=3)
    with pytest.raises(UsageError, match="strategy: unknown 'bean'"):
        load(file, "bean")


def test_an_export_names_the_engine_that_runs_it(tmp_path: Path) -> None:
    (tmp_path / "regard.json").write_text("{}")
    with pytest.raises(UsageError, match="an export for another program; give the model file or its run"):
        load(tmp_path)
    export_ctranslate2(write(tmp_path / "model.safetensors", Transformer(**SMALL)), tmp_path / "export")
    with pytest.raises(UsageError, match="an export, which the engine ctranslate2 runs, not torch"):
        load(tmp_path / "export", engine="torch")
    with pytest.raises(UsageError, match=r"an export, .* not with other models"):
        load([tmp_path / "export", tmp_path / "model.safetensors"])


def test_an_export_chooses_its_engine_by_itself_and_a_model_stays_with_torch(tmp_path: Path) -> None:
    file = write(tmp_path / "model.safetensors", Transformer(**SMALL))
    out = export_ctranslate2(file, tmp_path / "export")
    said: list[str] = []
    assert isinstance(load(out, tell=said.append), CTranslate2Translator)
    assert said == [f"{out}: an export, so CTranslate2 computes it"]
    assert type(load(file, tell=said.append)) is Translator
    assert len(said) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["export", "model.safetensors"]
