import pytest
import torch

from regard.base.errors import UsageError
from regard.interop.onnx_graphs import OnnxGraph, make_graphs, zeros
from regard.layers.pointer_generator import Copying
from regard.models.gpt import Gpt, GptModel
from regard.models.model import Design
from regard.models.rnn_lm import RnnLm
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from regard.models.writer import Transducer
from tests.interop.examples import SMALL

DESIGNS: dict[str, Design] = {
    "transformer": Transformer(**SMALL),
    "gpt": Gpt(width=16, heads=4, layers=2),
    "at once": Seq2seq(width=16),
    "fed": Seq2seq.preset("luong", width=16, encoder_layers=2, decoder_layers=2),
    "previous": Seq2seq.preset("bahdanau", width=16, embedding=10, encoder_width=12),
    "no attention": Seq2seq(width=16, cell="elman", attention=None),
}


def graphs(name: str) -> tuple[torch.nn.Module, dict[str, OnnxGraph]]:
    model = DESIGNS[name].build(dict.fromkeys(DESIGNS[name].needs, 20)).eval()
    return model, {graph.name: graph for graph in make_graphs(model, "file")}


@pytest.mark.parametrize("name", DESIGNS)
@torch.no_grad()
def test_steps_from_tensors_are_the_steps_of_the_model(name: str) -> None:
    model, made = graphs(name)
    source, lengths, target = torch.randint(4, 20, (3, 5)), torch.tensor([5, 2, 4]), torch.randint(4, 20, (3, 6))
    given = (source, lengths) if isinstance(model, Transducer) else (None, None)
    wanted = model(*given, target)
    state = {slot.name: zeros(slot, 3) for slot in made["step"].slots if slot.zeros}
    if isinstance(model, Transducer):
        state |= dict(zip(made["start"].outputs, made["start"].module(source, lengths), strict=True))
    for at in range(6):
        outputs = made["step"].module(target[:, at], *(state[slot.name] for slot in made["step"].slots))
        found = dict(zip(made["step"].outputs, outputs, strict=True))
        torch.testing.assert_close(found.pop("logits"), wanted[:, at], rtol=1e-4, atol=1e-4)
        state |= {name.removeprefix("next_"): tensor for name, tensor in found.items()}
    if "score" in made:
        read = (source, lengths, target) if isinstance(model, Transducer) else (target,)
        torch.testing.assert_close(made["score"].module(*read), wanted, rtol=1e-4, atol=1e-4)


def test_which_graphs_there_are() -> None:
    names = {name: list(graphs(name)[1]) for name in DESIGNS}
    assert names["transformer"] == names["at once"] == ["start", "step", "score"]
    assert names["gpt"] == ["step", "score"]
    assert names["fed"] == names["previous"] == ["start", "step"], "a step waits for what another one read"


def test_other_models_and_memories_are_refused() -> None:
    with pytest.raises(UsageError, match=r"file: model.name is 'rnnlm', but ONNX is written for transformer, seq2seq"):
        make_graphs(RnnLm(width=8).build({"text": 20}), "file")
    with pytest.raises(UsageError, match=r"model.memory is 'rolling', but ONNX is written for the memory 'growing'"):
        make_graphs(Gpt(width=16, heads=4, layers=1, memory="rolling(8)", positions=None).build({"text": 20}), "file")
    mixing = Gpt(width=16, heads=4, layers=1, mixer="recurrent", positions=None)
    with pytest.raises(UsageError, match=r"file: model.mixer must be 'self_attention', the one mixer that ONNX"):
        make_graphs(mixing.build({"text": 20}), "file")


def test_a_subclass_of_a_model_is_refused() -> None:
    class Other(GptModel):
        """Does who knows what."""

    with pytest.raises(UsageError, match=r"file: model.name is 'other', but ONNX is written for"):
        make_graphs(Other(Gpt(width=16, heads=4, layers=1), 20), "file")


def test_a_model_that_copies_is_refused() -> None:
    model = Seq2seq(width=16, copy=Copying()).build({"source": 20, "target": 20})
    with pytest.raises(UsageError, match=r"file: model.copy: ONNX graphs have one vocabulary"):
        make_graphs(model, "file")
