"""Our Transformer's weights under plain names, one matrix each, for others to read: `encoder.0.self.query.weight`."""

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from regard.layers.block import Block
from regard.models.transformer import Transformer, TransformerModel


def write_weights(path: Path, model: TransformerModel, design: Transformer) -> None:
    """Write weights and sizes to an .npz file."""
    found = {"table": model.target.table.weight}
    for side in ("encoder", "decoder"):
        stack = getattr(model, side)
        found |= _named(f"{side}.norm", stack.norm)
        for at, block in enumerate(stack.blocks):
            found |= _block(f"{side}.{at}", block, design.width)
    sizes = {
        name: getattr(design, name) for name in ("encoder_layers", "decoder_layers", "width", "feedforward", "heads")
    }
    sizes["vocabulary"] = len(model.target.table.weight)
    arrays = {name: weight.detach().numpy() for name, weight in found.items()}
    np.savez(path, **arrays, **{f"sizes/{name}": np.array(size) for name, size in sizes.items()})


def obstacle(design: Any) -> str | None:
    """Why a design cannot be given to others, None if it can."""
    if not isinstance(design, Transformer):
        return "the model is no Transformer"
    usual = Transformer()
    names = (
        "norm",
        "norm_place",
        "mixer",
        "feed",
        "mask",
        "residual_scale",
        "positions",
        "score",
        "normalizer",
        "activation",
        "tie",
        "key_heads",
    )
    other = [name for name in names if getattr(design, name) != getattr(usual, name)]
    return f"they have nothing for model.{other[0]} = {getattr(design, other[0])}" if other else None


def _block(name: str, block: Block, width: int) -> dict[str, Tensor]:
    joint = block.self_attention.projections.joint
    found = _split(f"{name}.self", ("query", "key", "value"), joint, width)
    found |= _named(f"{name}.self.output", block.self_attention.output)
    if block.cross is not None:
        found |= _named(f"{name}.cross.query", block.cross.projections.query)
        found |= _split(f"{name}.cross", ("key", "value"), block.cross.projections.source, width)
        found |= _named(f"{name}.cross.output", block.cross.output)
    found |= _named(f"{name}.inner", block.feedforward.inner) | _named(f"{name}.outer", block.feedforward.outer)
    for branch, norm in block.norms.items():
        found |= _named(f"{name}.{branch.removesuffix('_attention')}_norm", norm)
    return found


def _named(name: str, module: Any) -> dict[str, Tensor]:
    return {f"{name}.weight": module.weight, f"{name}.bias": module.bias}


def _split(name: str, parts: tuple[str, ...], linear: Any, width: int) -> dict[str, Tensor]:
    found = {}
    for part, weight, bias in zip(parts, linear.weight.split(width), linear.bias.split(width), strict=True):
        found |= {f"{name}.{part}.weight": weight, f"{name}.{part}.bias": bias}
    return found
