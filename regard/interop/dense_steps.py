"""The Dense steps of a sentence-transformers folder that classify: f(W₁ pooled + b₁), then W₂ · + b₂, the logits.

`transformers` itself pools a text for BERT's classes by its first token alone. A classifier that pools otherwise is a
folder of sentence-transformers, whose `encode` gives the logits; the names of the classes are in its `config.json`.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from regard.base.errors import RegardError, UsageError
from regard.interop.model_folder import WEIGHTS, read_json, read_weight_file

_ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}
_PARTS = ("weight", "bias")
CLASSIFYING_STEPS = ("2_Dense", "3_Dense")
"""where they are written"""


def write_dense_steps(folder: Path, paths: tuple[str, str], weights: Mapping[str, Tensor], activation: str) -> None:
    """Write the head of a classifier, whose weights are `head.inner` and `head.outer`, as two steps."""
    if activation not in _ACTIVATIONS:
        raise UsageError(
            f"model.pooled_activation is '{activation}', which sentence-transformers cannot express; "
            f"it has {', '.join(_ACTIVATIONS)}"
        )
    functions = (f"torch.nn.modules.activation.{_ACTIVATIONS[activation]}", "torch.nn.modules.linear.Identity")
    for path, name, function in zip(paths, ("inner", "outer"), functions, strict=True):
        own = {f"linear.{part}": weights[f"head.{name}.{part}"] for part in _PARTS}
        outputs, inputs = own["linear.weight"].shape
        config = {"in_features": inputs, "out_features": outputs, "bias": True, "activation_function": function}
        (folder / path / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        save_file(own, folder / path / WEIGHTS, metadata={"format": "pt"})


def read_dense_steps(folder: Path, paths: tuple[str, str]) -> tuple[str, dict[str, Tensor]]:
    """The activation of a classifier's head, and its weights as `head.inner` and `head.outer`."""
    first, last = (read_json(folder / path / "config.json").get("activation_function") for path in paths)
    known = {there: here for here, there in _ACTIVATIONS.items()}
    between, end = (str(one).rpartition(".")[2] for one in (first, last))
    if between not in known or end != "Identity":
        raise RegardError(
            f"{folder / 'modules.json'}: its Dense steps end in {first} and {last}, but those of a classifier end in "
            f"{', '.join(known)} and Identity"
        )
    made: dict[str, Tensor] = {}
    for path, name in zip(paths, ("inner", "outer"), strict=True):
        own = read_weight_file(folder / path / WEIGHTS)
        if set(own) != {f"linear.{part}" for part in _PARTS}:
            wanted = "linear.weight and linear.bias"
            raise RegardError(f"{folder / path / WEIGHTS}: must have {wanted}, but has {sorted(own)}")
        made |= {f"head.{name}.{part}": own[f"linear.{part}"] for part in _PARTS}
    return known[between], made
