"""Models of pictures as Hugging Face writes them: `config.json`, `model.safetensors`, `preprocessor_config.json`."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.base.config import to_dict
from regard.base.errors import RegardError, UsageError
from regard.interop.class_names import class_names, is_multi_label
from regard.interop.export_folder import MANIFEST, making
from regard.interop.family import Family, two_sides
from regard.interop.model_folder import read_json, read_weights, write_folder
from regard.models.model import MODELS, Design
from regard.runs.artifact import Artifact

_PREPROCESSOR = "preprocessor_config.json"
_USUAL_SHADE = 0.5
_BRIGHTEST = 1 / 255


def read_picture_folder(folder: Path, config: Mapping[str, Any], family: Family) -> Artifact:
    """The model of a folder; a setting that we do not have is refused."""
    where = str(folder / "config.json")
    design: Design = MODELS.make(family.model(config, where), f"{where}: model")
    try:
        height, width = two_sides(config["image_size"])
    except RegardError as error:
        raise RegardError(f"{where}: image_size: {error}") from error
    channels = int(config["num_channels"])
    classes = class_names(config, where)
    if is_multi_label(config):
        raise RegardError(f"{where}: problem_type is {config['problem_type']!r}, but pictures have one class each here")
    sizes = {"channels": channels, "height": height, "width": width, "classes": len(classes)}
    resolved = {"name": family.design, **to_dict(design)}
    return Artifact(
        config={"model": resolved},
        task=family.task_of(config, where)[1],
        sizes=sizes,
        tokenizers={},
        extras={"classes": classes, "shades": _shades(folder, channels), "huggingface": {"config": dict(config)}},
        weights=_weights(family, resolved, config, folder, design, sizes),
        name=str(folder),
    )


def write_picture_folder(artifact: Artifact, family: Family, out: Path, *, force: bool = False) -> None:
    """Write a model as a folder that `transformers` loads."""
    design: Any = artifact.design()
    if getattr(design, "feedforward", 0) is None:
        design = replace(design, feedforward=4 * design.width)
    resolved = {"name": design.where, **to_dict(design)}
    config = _config(artifact, family, resolved)
    _check_same(family, design, config, artifact.name)
    weights: dict[str, Tensor] = {}
    for entry in family.entries(resolved, artifact.task, config):
        weights |= entry.write(artifact.weights[entry.ours], {})
    with making(out, force=force) as folder:
        write_folder(folder, config, weights, {})
        (folder / _PREPROCESSOR).write_text(json.dumps(_preprocessor(artifact), indent=2), encoding="utf-8")
        (folder / MANIFEST).write_text(json.dumps({"kind": "regard export", "format": "huggingface"}), encoding="utf-8")


def _config(artifact: Artifact, family: Family, resolved: Mapping[str, Any]) -> dict[str, Any]:
    told = (artifact.extras.get("huggingface") or {}).get("config")
    known = told or {"model_type": family.type(), "architectures": [*family.tasks], **family.fixed}
    height, width = artifact.sizes["height"], artifact.sizes["width"]
    classes = artifact.extras["classes"]
    return {
        **{name: value for name, value in known.items() if name != "torch_dtype"},
        "dtype": "float32",
        **{theirs: resolved[ours] for ours, theirs in family.names.items()},
        **family.config(resolved),
        "image_size": height if height == width else [height, width],
        "num_channels": artifact.sizes["channels"],
        "id2label": {str(at): label for at, label in enumerate(classes)},
        "label2id": {label: at for at, label in enumerate(classes)},
    }


def _weights(
    family: Family,
    resolved: Mapping[str, Any],
    config: Mapping[str, Any],
    folder: Path,
    design: Design,
    sizes: Mapping[str, int],
) -> dict[str, Tensor]:
    """Our tensors, each of the shape that the model needs."""
    entries = list(family.entries(resolved, "pictures", config))
    tensors = family.named(read_weights(folder), {name for entry in entries for name in entry.theirs}, str(folder))
    with torch.device("meta"):
        wanted = {name: list(weight.shape) for name, weight in design.build(sizes).state_dict().items()}
    made = {entry.ours: entry.read(tensors, {}, str(folder)) for entry in entries}
    for entry in entries:
        if (found := list(made[entry.ours].shape)) != wanted[entry.ours]:
            names = " and ".join(entry.theirs)
            raise RegardError(
                f"{folder}: {names} give a tensor of shape {found}, but config.json asks for {wanted[entry.ours]}"
            )
    return made


def _shades(folder: Path, channels: int) -> dict[str, list[float]]:
    """How the model's pictures are normalized: as the folder's preprocessor says, else to the range from -1 to 1."""
    path = folder / _PREPROCESSOR
    told = read_json(path) if path.is_file() else {}
    scale = told.get("rescale_factor", _BRIGHTEST)
    if told.get("do_rescale") is False or not isinstance(scale, float) or abs(scale - _BRIGHTEST) > _BRIGHTEST / 1e4:
        name = "do_rescale" if told.get("do_rescale") is False else "rescale_factor"
        raise RegardError(f"{path}: {name} is {told[name]!r}, but only a rescaling by 1/255 is read")
    if told.get("do_normalize") is False:
        return {"mean": [0.0] * channels, "deviation": [1.0] * channels}
    made = {}
    for ours, theirs in (("mean", "image_mean"), ("deviation", "image_std")):
        value = told.get(theirs, _USUAL_SHADE)
        each = value if isinstance(value, list) else [value]
        if not all(isinstance(one, int | float) and (one > 0 or ours == "mean") for one in each):
            wanted = "numbers" if ours == "mean" else "numbers above 0"
            raise RegardError(f"{path}: {theirs} is {value!r}, but must be {wanted}, one for each channel")
        made[ours] = [float(part) for part in value] if isinstance(value, list) else [float(value)] * channels
        if len(made[ours]) != channels:
            raise RegardError(f"{path}: {theirs} has {len(made[ours])} numbers, but pictures have {channels} channels")
    return made


def _preprocessor(artifact: Artifact) -> dict[str, Any]:
    shades, sizes = artifact.extras["shades"], artifact.sizes
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": sizes["height"], "width": sizes["width"]},
        "resample": 2,
        "do_rescale": True,
        "rescale_factor": _BRIGHTEST,
        "do_normalize": True,
        "image_mean": shades["mean"],
        "image_std": shades["deviation"],
    }


_OTHER_BEGINNINGS = {("patch_positions", "waves", "learned"), ("relative_bias", "neighbors", "random")}
"""settings of how weights are initialized: the same weights are learned there"""


def _check_same(family: Family, design: Design, config: Mapping[str, Any], where: str) -> None:
    """Refuse by its name a setting that is not expressed there; how weights began and how they learn may differ."""
    again = MODELS.make(family.model(config, where), where)
    for field in fields(again):
        now, then = getattr(design, field.name), getattr(again, field.name)
        if (field.name, now, then) in _OTHER_BEGINNINGS:
            continue
        if now != then and not field.name.endswith(("dropout", "stochastic_depth")):
            raise UsageError(f"{where}: model.{field.name} is {now!r}, which '{family.type()}' there cannot express")
