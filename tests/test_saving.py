"""A model in Python becomes a file that is loaded again."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import regard
from regard.base.errors import UsageError
from regard.decoding.generator import Generator
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.translator import Translator
from regard.layers.inference import precision
from regard.loading import load
from regard.models.gpt import Gpt
from regard.models.transformer import Transformer
from regard.saving import save
from tests.data.examples import LINES, subwords
from tests.decoding.test_opening import GPT, TEXTS, saved
from tests.interop.examples import SMALL, shortlist, write, write_trained


def test_what_was_loaded_is_saved_to_the_same_bytes(tmp_path: Path) -> None:
    first = write_trained(tmp_path / "a.safetensors")
    assert save(load(first), tmp_path / "b.safetensors") == tmp_path / "b.safetensors"
    assert (tmp_path / "b.safetensors").read_bytes() == first.read_bytes()
    save(load(first).models[0], str(tmp_path / "c.safetensors"))
    assert (tmp_path / "c.safetensors").read_bytes() == first.read_bytes()


def test_new_weights_and_settings_are_saved(tmp_path: Path) -> None:
    translator = load(write_trained(tmp_path / "a.safetensors"))
    with torch.no_grad():
        translator.models[0].output.weight.mul_(0.5)
    translator.strategy, translator.shortlist = Greedy(max_length=4), shortlist()
    save(translator, tmp_path / "b.safetensors")
    again = load(tmp_path / "b.safetensors", shortlist=True)
    assert again.strategy == Greedy(max_length=4)
    assert again.alignment == translator.alignment is not None
    assert torch.equal(again.models[0].output.weight, translator.models[0].output.weight)
    assert again.translate(LINES[:2]) == translator.translate(LINES[:2])


def test_a_model_that_was_built_in_python(tmp_path: Path) -> None:
    known, design = subwords(), Transformer(**SMALL)
    network = design.build({"source": len(known), "target": len(known)}).eval()
    with pytest.raises(UsageError, match="save: this model was not loaded from a file; give the design"):
        save(network, tmp_path / "a.safetensors")
    with pytest.raises(UsageError, match="save: give the subwords of source and target"):
        save(network, tmp_path / "a.safetensors", design=design)
    save(network, tmp_path / "a.safetensors", design=design, subwords=known)
    translator = Translator(network, known, known, max_source=20)
    save(translator, tmp_path / "b.safetensors", design=design)
    again = load(tmp_path / "b.safetensors")
    assert again.max_source == 20
    assert again.score(LINES[:2], LINES[:2]) == translator.score(LINES[:2], LINES[:2])
    assert load(tmp_path / "a.safetensors").score(LINES[:2], LINES[:2]) == again.score(LINES[:2], LINES[:2])


def test_a_language_model(tmp_path: Path) -> None:
    generator = load(saved(tmp_path / "a.safetensors", GPT), expect=Generator)
    save(generator, tmp_path / "b.safetensors")
    assert (tmp_path / "b.safetensors").read_bytes() == (tmp_path / "a.safetensors").read_bytes()
    design = Gpt(layers=1, width=8, heads=2)
    network = design.build({"text": len(generator.subwords)}).eval()
    save(Generator(network, generator.subwords), tmp_path / "c.safetensors", design=design)
    assert len(load(tmp_path / "c.safetensors", expect=Generator).score(TEXTS)) == 12


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_loaded_again_is_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path / "a.safetensors", Transformer(**SMALL))
    with pytest.raises(UsageError, match="save: an ensemble of 2 models is no one file"):
        save(load([file, file]), tmp_path / "b.safetensors")
    with pytest.raises(UsageError, match="not a int"):
        save(3, tmp_path / "b.safetensors")  # type: ignore[call-overload,arg-type]
    monkeypatch.setattr(precision, "LEAST", 1)
    other = load(file)
    other.models[0].output = torch.nn.Linear(3, 5)  # type: ignore[assignment]
    with pytest.raises(UsageError, match=r"save: the tensor 'output\.bias' is not as the design makes it"):
        save(other, tmp_path / "b.safetensors")
    assert not (tmp_path / "b.safetensors").exists()


def test_a_model_that_the_safetensors_library_rewrote_is_loaded(tmp_path: Path) -> None:
    file = write_trained(tmp_path / "a.safetensors")
    with safe_open(file, "pt") as opened:
        metadata = opened.metadata()
    save_file(load_file(file), tmp_path / "same.safetensors", metadata=metadata)
    assert load(tmp_path / "same.safetensors").translate(LINES[:2]) == load(file).translate(LINES[:2])
    del metadata["checksum"]
    halves = {name: tensor.half() for name, tensor in load_file(file).items()}
    save_file(halves, tmp_path / "half.safetensors", metadata=metadata)
    again = load(tmp_path / "half.safetensors")
    assert torch.equal(again.models[0].output.weight, load(file).models[0].output.weight.half().float())
    save(again, tmp_path / "whole.safetensors")
    with safe_open(tmp_path / "whole.safetensors", "pt") as opened:
        assert "checksum" in opened.metadata()


def test_it_is_public() -> None:
    assert regard.save is save
