"""Alignment heads: the attention heads whose weights align words, as stored in the model file."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from regard.attention.record import attention_layers
from regard.base.errors import RegardError, UsageError
from regard.decoding.translator import Translator
from regard.models.writer import Writer
from regard.runs.artifact import load_artifact, save_artifact

_NUMBERED = re.compile(r"\.(\d+)\.cross$")


@dataclass(frozen=True)
class HeadChoice:
    """Attention heads whose mean weights make the alignment, each given by its layer's name and a number.

    At `shift` 0 a target token has the weights of the step that predicts it; at 1, those of the next step, which reads
    it as input and often aligns better in a Transformer (Chen et al., 2020, https://arxiv.org/abs/2004.14837).
    `score` says how good the choice is, from 0 to 1, by some `measure`.
    """

    heads: tuple[tuple[str, int], ...]
    shift: int = 0
    measure: str = ""
    score: float = 0.0

    @property
    def layers(self) -> dict[str, list[int]]:
        """The chosen heads of each layer."""
        found: dict[str, list[int]] = {}
        for layer, head in self.heads:
            found.setdefault(layer, []).append(head)
        return found

    def __str__(self) -> str:
        parts = [
            f"head{'s' * (len(own) > 1)} {_spans(own)} of {layer_label(name)}" for name, own in self.layers.items()
        ]
        return f"{' and '.join(parts)}, {'once the token was read' if self.shift else 'when the token was predicted'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, as `extras["alignment"]` of a model file holds it."""
        return asdict(self) | {"heads": [list(head) for head in self.heads]}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Self:
        """The choice from what `to_dict` wrote."""
        try:
            heads, shift = tuple((str(layer), head) for layer, head in table["heads"]), table["shift"]
            if not heads or not all(type(head) is int and head >= 0 for _, head in heads) or shift not in (0, 1):
                raise ValueError("they must be heads from 0 on, with a shift of 0 or 1")
            choice = cls(heads, int(shift), str(table.get("measure", "")), float(table.get("score", 0.0)))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise RegardError(
                f"the model's alignment heads cannot be read: {error}; choose anew, regard heads"
            ) from error
        return choice


def source_attentions(model: Writer) -> dict[str, int]:
    """The layers that attend to the source, and how many heads each has."""
    names = [name for name in attention_layers(model) if name.rpartition(".")[2] == "cross"]
    if not names:
        raise UsageError("alignment: the model has no attention over its source")
    return {name: int(getattr(model.get_submodule(name), "heads", 1)) for name in names}


def chosen_heads(translator: Translator) -> HeadChoice:
    """The heads that the model file names; else all of the last layer but one (Garg et al., 2019, 1909.02074)."""
    layers = source_attentions(translator.models[0])
    if translator.alignment is None:
        name = list(layers)[-2:][0]
        return HeadChoice(tuple((name, head) for head in range(layers[name])), measure="not measured")
    choice = HeadChoice.from_dict(translator.alignment)
    for layer, head in choice.heads:
        if head >= layers.get(layer, 0):
            where = f"head {head + 1} of {layer_label(layer)}"
            raise RegardError(f"alignment: the model file names {where}, which the model does not have")
    return choice


def layer_label(name: str) -> str:
    """A layer as people read it, counted from 1 as on the page: `decoder.layers.0.cross` is layer 1."""
    found = _NUMBERED.search(name)
    return f"layer {int(found[1]) + 1}" if found else name


def _spans(numbers: list[int]) -> str:
    """The numbers of heads, counted from 1."""
    numbers = [number + 1 for number in numbers]
    whole = len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}–{numbers[-1]}" if whole else ", ".join(map(str, numbers))


def keep_choice(file: Path, choice: HeadChoice) -> None:
    """Write the chosen heads into a model file, which is replaced atomically."""
    save_artifact(file, load_artifact(file).with_extras(alignment=choice.to_dict()))
