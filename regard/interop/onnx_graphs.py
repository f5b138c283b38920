"""Models as pure functions of tensors, as ONNX needs them.

A translation model becomes up to three graphs, a language model the last two:

    start:  source [batch, source], source_lengths [batch]      → the state before the first token
    step:   token [batch], state                                → logits [batch, vocabulary], the state after it
    score:  source, source_lengths, target [batch, target]      → logits [batch, target, vocabulary], all at once

The decoding state is split into named tensors, one for each layer and kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from regard.attention.memories.growing import Growing
from regard.attention.memory import Memory, PairMemory
from regard.attention.part import positions_of
from regard.base.errors import UsageError
from regard.interop.onnx_parts import prepare
from regard.layers.mixer import MixerState
from regard.layers.pointer_generator import PointerGenerator
from regard.models.gpt import GptModel
from regard.models.seq2seq import Carried, Seq2seqModel
from regard.models.transformer import TransformerModel
from regard.models.writer import LayerState, State, Transducer, Writer

Axes = tuple[str | int, ...]
"""the shape of a tensor, a name for each axis that may have any size"""


@dataclass(frozen=True, eq=False)
class Pairs(PairMemory):
    """A growing memory (KV cache) as plain tensors: the next pair is concatenated."""

    key: Tensor
    value: Tensor
    kept: Tensor | None = None

    @property
    def length(self) -> int:  # type: ignore[override]
        """How many pairs there are."""
        return self.key.shape[2]

    @property
    def at(self) -> Tensor:
        return positions_of(self.length, self.key)

    def extend(self, key: Tensor, value: Tensor, keep: Tensor | None = None) -> "Pairs":
        return Pairs(torch.cat([self.key, key], 2), torch.cat([self.value, value], 2), self.kept)


@dataclass(frozen=True)
class Slot:
    """One tensor of a state."""

    name: str
    axes: Axes
    changes: bool
    """a step returns it updated, as `next_…`; otherwise it stays as `start` made it"""
    zeros: bool = False
    """before the first step it is zeros of this shape, axes called `past` being empty"""
    boolean: bool = False


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """A function to export: its name, module, inputs and outputs."""

    name: str
    module: nn.Module
    inputs: Mapping[str, Axes]
    outputs: Mapping[str, Axes]
    slots: Sequence[Slot] = field(default=())


def make_graphs(model: Writer, where: str) -> list[OnnxGraph]:
    """The graphs of a model; an unsupported kind is refused."""
    if type(model) not in (TransformerModel, Seq2seqModel, GptModel):
        kind = type(model).__name__.removesuffix("Model").lower()
        raise UsageError(f"{where}: model.name is '{kind}', but ONNX is written for transformer, seq2seq and gpt")
    if isinstance(model.output, PointerGenerator):
        raise UsageError(
            f"{where}: model.copy: ONNX graphs have one vocabulary for all sentences, so they cannot copy words; "
            "use the model as it is, or train one without copy"
        )
    prepare(model, where)
    slots = _slots(model, where)
    source: dict[str, Axes] = {"source": ("batch", "source"), "source_lengths": ("batch",)}
    target: dict[str, Axes] = {"target": ("batch", "target")}
    vocabulary = model.output.out_features
    graphs = []
    if isinstance(model, Transducer):
        made = {slot.name: slot.axes for slot in slots if not slot.zeros}
        graphs.append(OnnxGraph("start", StartGraph(model, slots), source, made))
    given: dict[str, Axes] = {"token": ("batch",)} | {slot.name: slot.axes for slot in slots}
    after = {f"next_{slot.name}": _grown(slot.axes) for slot in slots if slot.changes}
    graphs.append(OnnxGraph("step", StepGraph(model, slots), given, {"logits": ("batch", vocabulary)} | after, slots))
    if not isinstance(model, Seq2seqModel) or model.decoder.at_once:
        read = source | target if isinstance(model, Transducer) else target
        graphs.append(OnnxGraph("score", ScoreGraph(model), read, {"logits": ("batch", "target", vocabulary)}))
    return graphs


class StartGraph(nn.Module):
    """`model.start`, its state as tensors."""

    def __init__(self, model: Writer, slots: Sequence[Slot]) -> None:
        super().__init__()
        self.model, self.names = model, [slot.name for slot in slots if not slot.zeros]

    def forward(self, source: Tensor, source_lengths: Tensor) -> tuple[Tensor, ...]:
        """The state before the first step."""
        tensors = take_apart(self.model.start(source, source_lengths))
        return tuple(tensors[name] for name in self.names)


class StepGraph(nn.Module):
    """`model.step`, the states before and after as tensors."""

    def __init__(self, model: Writer, slots: Sequence[Slot]) -> None:
        super().__init__()
        self.model, self.slots = model, slots

    def forward(self, token: Tensor, *state: Tensor) -> tuple[Tensor, ...]:
        """The logits, and those parts of the state that changed."""
        tensors = dict(zip((slot.name for slot in self.slots), state, strict=True))
        logits, after = self.model.step(token, put_together(self.model, tensors, token))
        changed = take_apart(after)
        return logits, *(changed[slot.name] for slot in self.slots if slot.changes)


class ScoreGraph(nn.Module):
    """The model over whole targets, which begin with `<s>`, or with `</s>` where there is no source."""

    def __init__(self, model: Writer) -> None:
        super().__init__()
        self.model = model

    def forward(self, *given: Tensor) -> Tensor:
        """The logits of the token that follows each position."""
        *source, target = given
        read, lengths = source if source else (None, None)
        logits: Tensor = self.model(read, lengths, target)
        return logits


def take_apart(state: State) -> dict[str, Tensor]:
    """The tensors of a state by their names."""
    tensors: dict[str, Tensor] = {}
    if isinstance(state, LayerState):
        for kind, memories in (("self", state.memories), ("source", state.sources)):
            for at, memory in enumerate(memories):
                tensors |= _pair(f"{kind}_{{}}_{at}", memory)
    elif isinstance(state, Carried):
        tensors |= {f"state_{at}": each for at, each in enumerate(state.states)}
        tensors |= {name: each for name in ("read", "fed") if (each := getattr(state, name)) is not None}
        tensors |= {} if state.source is None else _pair("source_{}", state.source)
    kept = [name for name in tensors if "_keep" in name]
    if kept:
        tensors["source_keep"] = tensors[kept[0]]  # the padding of the source, the same for every layer
    return tensors


def put_together(model: Writer, tensors: Mapping[str, Tensor], token: Tensor) -> State:
    """The state that `take_apart` took apart, with a row for each token."""
    rows = token.shape[0]
    keep = tensors.get("source_keep")
    if isinstance(model, Seq2seqModel):
        states = tuple(tensors[f"state_{at}"] for at in range(model.decoder.rnn.states))
        source = Pairs(tensors["source_key"], tensors["source_value"], keep) if "source_key" in tensors else None
        return Carried(sentences=rows, states=states, source=source, read=tensors.get("read"), fed=tensors.get("fed"))
    layers = range(sum(name.startswith("self_key") for name in tensors))
    memories = tuple(Pairs(tensors[f"self_key_{at}"], tensors[f"self_value_{at}"]) for at in layers)
    sources: tuple[Memory, ...] = ()
    if isinstance(model, Transducer):
        sources = tuple(Pairs(tensors[f"source_key_{at}"], tensors[f"source_value_{at}"], keep) for at in layers)
    return LayerState(sentences=rows, length=memories[0].length, memories=memories, sources=sources)


def _pair(name: str, memory: MixerState) -> dict[str, Tensor]:
    if not isinstance(memory, PairMemory) or memory.key is None or memory.value is None:
        return {}
    found = {name.format("key"): memory.key, name.format("value"): memory.value}
    return found if memory.kept is None else found | {name.format("keep"): memory.kept}


def _slots(model: Writer, where: str) -> list[Slot]:
    """The tensors of the state, found by starting the model and taking a step."""
    token = torch.zeros(2, dtype=torch.long)
    reads = isinstance(model, Transducer)
    source, lengths = (torch.zeros(2, 3).long(), torch.tensor([3, 2])) if reads else (None, None)
    with torch.no_grad():
        before = model.start(source, lengths, rows=2)
        memories = [*before.memories, *before.sources] if isinstance(before, LayerState) else []
        others = [one for one in memories if type(one) is not Growing]
        if others and not isinstance(others[0], Memory):
            raise UsageError(f"{where}: model.mixer must be 'self_attention', the one mixer that ONNX is written for")
        if others:
            kind = type(others[0]).__name__.strip("_").lower()
            raise UsageError(f"{where}: model.memory is '{kind}', but ONNX is written for the memory 'growing' alone")
        first = take_apart(before)
        after = take_apart(model.step(token, before)[1])
    made = []
    for name, tensor in after.items():
        if "_keep_" in name:
            continue
        fixed = name.startswith("source_")
        made.append(Slot(name, _axes(name, tensor), not fixed, not fixed and name not in first, name == "source_keep"))
    return made


def _axes(name: str, tensor: Tensor) -> Axes:
    if name == "source_keep":
        return ("batch", "source")
    if name.startswith("state_"):
        return (tensor.shape[0], "batch", tensor.shape[2])
    if tensor.dim() == 2:
        return ("batch", tensor.shape[1])
    return ("batch", tensor.shape[1], "past" if name.startswith("self_") else "source", tensor.shape[3])


def _grown(axes: Axes) -> Axes:
    return tuple("past_and_this" if axis == "past" else axis for axis in axes)


def zeros(slot: Slot, batch: int, past: int = 0) -> Tensor:
    """A slot before the first step; with `past`, one of that length to test a graph with."""
    sizes: dict[Any, Any] = {"batch": batch, "past": past}
    return torch.zeros([sizes.get(axis, axis) for axis in slot.axes])
