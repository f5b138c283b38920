"""What is loaded can say which words belong together, where it attends to its source."""

from pathlib import Path

import pytest

import regard
from regard.alignment.aligner import Aligner
from regard.base.config import to_dict
from regard.base.errors import UsageError
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translator import Translator
from regard.inspection.loading import load
from regard.models.gpt import Gpt
from regard.models.model import Design
from regard.models.seq2seq import Seq2seq
from regard.runs.artifact import Artifact, save_artifact
from tests.alignment.test_cross_weights import DESIGNS
from tests.data.examples import LINES, subwords


def saved(path: Path, name: str, design: Design, **extras: object) -> Path:
    known = subwords()
    tokenizers = {side: known.to_json() for side in ("source", "target", "text")}
    sizes = (len(known), len(known)) if name != "gpt" else (0, len(known))
    model = design.build(dict.fromkeys(design.needs, len(known)))
    artifact = Artifact(
        config={"model": {"name": name, **to_dict(design)}},
        vocabularies=sizes,
        weights=model.state_dict(),
        tokenizers=tokenizers,
        extras=extras,
    )
    save_artifact(path, artifact)
    return path


@pytest.mark.parametrize("name", ["transformer", "seq2seq"])
def test_alignments_just_work(name: str, tmp_path: Path) -> None:
    design = DESIGNS["transformer" if name == "transformer" else "previous"]
    translator = regard.load(saved(tmp_path / "model.safetensors", name, design))
    assert isinstance(translator, Translator)
    (found,) = translator.translate(LINES[:1], strategy=Greedy(min_length=2, max_length=5), alignments=True)
    assert found.alignment


def test_it_is_public() -> None:
    assert "load" in regard.__all__
    assert "load" in dir(regard)


def test_the_heads_of_the_file_are_used(tmp_path: Path) -> None:
    chosen = {"heads": [["decoder.layers.1.cross", 1]], "shift": 1, "measure": "gold links", "score": 0.5}
    file = saved(tmp_path / "model.safetensors", "transformer", DESIGNS["transformer"], alignment=chosen)
    translator = load(file)
    assert isinstance(translator, Translator)
    assert isinstance(translator.aligner, Aligner)
    assert translator.aligner.heads.to_dict() == chosen


def test_a_model_that_attends_to_no_source_has_no_aligner(tmp_path: Path) -> None:
    translator = load(saved(tmp_path / "a.safetensors", "seq2seq", Seq2seq(width=8, attention=None)))
    assert isinstance(translator, Translator)
    assert translator.aligner is None
    with pytest.raises(UsageError, match="no aligner"):
        translator.translate(["A dog"], alignments=True)
    writer = load(saved(tmp_path / "b.safetensors", "gpt", Gpt(layers=1, width=8, heads=2)))
    assert not isinstance(writer, Translator)
