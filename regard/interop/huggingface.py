"""Models of Hugging Face, in and out: a folder becomes one model file, and a model file such a folder.

The vocabulary is renumbered on the way in, so that `<pad>`, `<unk>`, `<s>` and `</s>` come first as everywhere here;
the order is kept in the model file, and undone on the way out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, processors

from regard.base.config import to_dict
from regard.base.errors import RegardError, UsageError, unknown
from regard.data.subwords.tokenizer import BOS, EOS, MASK_NAMES, PAD, SPECIALS, UNK
from regard.interop.export_folder import MANIFEST, making
from regard.interop.family import FAMILIES, NEVER, Family
from regard.interop.model_folder import read_config, read_tokenizer, read_weights, write_folder
from regard.interop.picture_folder import read_picture_folder, write_picture_folder
from regard.models.model import MODELS, Design
from regard.runs.artifact import Artifact, save_artifact
from regard.runs.snapshot import open_artifact

_OURS = {"bert": "bert", "gpt": "gpt2", "vit": "vit", "swin": "swin", "xlnet": "xlnet"}
"""the family that a model of ours is written as, if it was not imported"""


@dataclass(frozen=True)
class Imported:
    """What was imported, in a few words."""

    family: str
    task: str
    weights: int


def import_folder(folder: str | Path, out: str | Path) -> Imported:
    """Read a model folder and write it as one model file; nothing is written unless all of it can be read."""
    artifact = read_folder(Path(folder))
    save_artifact(out, artifact)
    family = artifact.extras["huggingface"]["config"]["model_type"]
    return Imported(family, artifact.task, sum(weight.numel() for weight in artifact.weights.values()))


def read_folder(folder: Path) -> Artifact:
    """The model of a folder."""
    config, where = read_config(folder), str(folder / "config.json")
    family = _family(config, where)
    _, task = family.task_of(config, where)
    if family.reads == "pictures":
        return read_picture_folder(folder, config, family)
    table = family.model(config, where)
    subwords, order, files = read_tokenizer(folder)
    order = _all_rows(order, int(config["vocab_size"]), folder)
    subwords = subwords.with_specials([f"<row {old}>" for old in order[len(subwords) :]])
    if family.design == "gpt" and None in order:
        table["output_bias"] = "fixed"
    design: Design = MODELS.make(table, f"{where}: model")
    extras, sizes = _extras(config, task, family, design, folder), {"text": len(order)}
    sizes |= {name: len(extras[name]) for name in ("classes", "tags") if name in extras}
    resolved = {"name": family.design, **to_dict(design)}
    weights = _weights(family, resolved, task, config, folder, order, design, sizes)
    return Artifact(
        config={"model": resolved},
        task=task,
        sizes=sizes,
        tokenizers={"text": subwords.to_json()},
        extras={**extras, "huggingface": {"config": config, "order": order, "files": files}},
        weights=weights,
        name=str(folder),
    )


def export_huggingface(model: str | Path, out: str | Path, *, force: bool = False) -> None:
    """Write a model as a folder that `transformers` loads."""
    artifact = open_artifact(model)
    told = artifact.extras.get("huggingface") or {}
    name = artifact.design().where
    if not told and name not in _OURS:
        raise UsageError(f"{model}: model.name is '{name}', but Hugging Face is written for {', '.join(_OURS)}")
    family = _family(told["config"], str(model)) if told else FAMILIES.make(_OURS[name])
    if family.reads == "pictures":
        write_picture_folder(artifact, family, Path(out), force=force)
        return
    design = _spelled_out(artifact.design())
    resolved = {"name": name, **to_dict(design)}
    config = _config(family, resolved, artifact, told)
    _check_same(family, design, config, str(model))
    order = told.get("order") or list(range(artifact.sizes["text"]))
    weights: dict[str, torch.Tensor] = {}
    for entry in family.entries(resolved, artifact.task, config):
        weights |= entry.write(artifact.weights[entry.ours], order)
    with making(out, force=force) as folder:
        write_folder(folder, config, weights, told.get("files") or _tokenizer_files(artifact))
        (folder / MANIFEST).write_text(json.dumps({"kind": "regard export", "format": "huggingface"}), encoding="utf-8")


def _family(config: Mapping[str, Any], where: str) -> Family:
    kind = str(config.get("model_type"))
    if kind not in FAMILIES.names:
        raise RegardError(unknown(f"{where}: model_type", kind, FAMILIES.names, "those that are read"))
    family: Family = FAMILIES.make(kind)
    return family


def _all_rows(order: list[int | None], rows: int, folder: Path) -> list[int | None]:
    """The order of the whole vocabulary: rows that are no tokens come last."""
    named = {old for old in order if old is not None}
    if max(named) >= rows:
        raise RegardError(
            f"{folder}: tokenizer.json has tokens up to number {max(named)}, but the model has {rows} embeddings; "
            "it belongs to another model"
        )
    return [*order, *(old for old in range(rows) if old not in named)]


def _extras(config: Mapping[str, Any], task: str, family: Family, design: Design, folder: Path) -> dict[str, Any]:
    """What the task keeps beside the weights."""
    if task not in ("classify", "tag"):
        return {}
    names = config.get("id2label") or {str(at): f"LABEL_{at}" for at in range(int(config.get("num_labels", 2)))}
    kind = config.get("problem_type")
    if kind == "regression" or len(names) < 2:
        raise RegardError(f"{folder / 'config.json'}: problem_type is regression, but classes alone are read")
    longest = getattr(getattr(design, "positions", None), "length", None)
    labels = [str(names[str(at)]) for at in range(len(names))]
    frame = {"longest": longest, "separators": family.separators}
    if task == "tag":
        return {"tags": labels, "frame": frame}
    several = "several" if kind == "multi_label_classification" else "one"
    return {"classes": labels, "labels": several, "texts": None, "frame": frame}


def _weights(
    family: Family,
    resolved: Mapping[str, Any],
    task: str,
    config: Mapping[str, Any],
    folder: Path,
    order: list[int | None],
    design: Design,
    sizes: Mapping[str, int],
) -> dict[str, torch.Tensor]:
    """Our tensors, each of the shape that the model needs."""
    entries = list(family.entries(resolved, task, config))
    where = str(folder)
    tensors = family.named(read_weights(folder), {name for entry in entries for name in entry.theirs}, where)
    with torch.device("meta"):
        wanted = design.build(sizes).state_dict()
    made = {}
    for entry in entries:
        made[entry.ours] = entry.read(tensors, order, where)
        found, needed = list(made[entry.ours].shape), list(wanted[entry.ours].shape)
        if found != needed:
            names = " and ".join(entry.theirs)
            raise RegardError(f"{where}: {names} give a tensor of shape {found}, but config.json asks for {needed}")
    for output, table in (("output", "target.table"), ("head.output", "source.table")):
        if f"{output}.weight" in wanted and f"{output}.weight" not in made:
            made[f"{output}.weight"] = made[f"{table}.weight"]
    if "output.bias" in wanted and "output.bias" not in made:
        made["output.bias"] = torch.tensor([NEVER if old is None else 0.0 for old in order])
    return made


def _config(family: Family, resolved: Mapping[str, Any], artifact: Artifact, told: Mapping[str, Any]) -> dict[str, Any]:
    """Their settings of a model of ours; those of a folder that was imported stay where they say the same."""
    usual = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS, "vocab_size": artifact.sizes["text"]}
    known = told.get("config") or {"model_type": family.type(), "dtype": "float32", **family.fixed, **usual}
    architectures = [name for name, task in family.tasks.items() if task == artifact.task]
    if not architectures:
        raise UsageError(f"{artifact.name}: the task {artifact.task} has no model of this kind in transformers")
    plain = {theirs: resolved[ours] for ours, theirs in family.names.items()}
    own = family.config(resolved)
    own = {key: value for key, value in own.items() if not (told and key.startswith(("max_position", "n_positions")))}
    made = {**known, **plain, **own}
    if not told:
        made["architectures"] = architectures[:1]
    labels = artifact.extras.get("classes") or artifact.extras.get("tags")
    if labels is not None:
        made["id2label"] = {str(at): label for at, label in enumerate(labels)}
        made["label2id"] = {label: at for at, label in enumerate(labels)}
    if "classes" in artifact.extras:
        several = artifact.extras.get("labels") == "several"
        made["problem_type"] = "multi_label_classification" if several else "single_label_classification"
    return made


def _check_same(family: Family, design: Design, config: Mapping[str, Any], where: str) -> None:
    """Refuse by its name a setting that is not expressed there: read back, the settings must be the same."""
    again = MODELS.make(family.model(config, where), where)
    for field in fields(again):
        now, then = getattr(design, field.name), getattr(again, field.name)
        if now == then or field.name.endswith("dropout") or (field.name, now) == ("output_bias", "fixed"):
            continue
        raise UsageError(
            f"{where}: model.{field.name} is {now!r}, which '{family.type()}' of transformers cannot express"
        )


def _spelled_out(design: Any) -> Any:
    """The design with defaults that depend on other settings as numbers."""
    usual = {"feedforward": 4 * design.width, "norm_epsilon": 1e-5 if design.norm == "layer" else 1e-6}
    return replace(design, **{name: value for name, value in usual.items() if getattr(design, name) is None})


def _tokenizer(artifact: Artifact) -> str:
    """Our tokenizer with the rule that puts `<s>` and `</s>` around texts that an encoder reads."""
    made = Tokenizer.from_str(artifact.tokenizers["text"])
    if artifact.task != "language":
        ends = [(SPECIALS[BOS], BOS), (SPECIALS[EOS], EOS)]
        single = f"{SPECIALS[BOS]} $A {SPECIALS[EOS]}"
        made.post_processor = processors.TemplateProcessing(
            single=single, pair=f"{single} $B:1 {SPECIALS[EOS]}:1", special_tokens=ends
        )
    return str(made.to_str())


def _tokenizer_files(artifact: Artifact) -> dict[str, str]:
    """Our tokenizer as transformers reads it."""
    pieces = Tokenizer.from_str(artifact.tokenizers["text"]).get_vocab(with_added_tokens=True)
    mask = next((name for name in MASK_NAMES if name in pieces), None)
    named = {"pad_token": PAD, "unk_token": UNK, "bos_token": BOS, "eos_token": EOS, "cls_token": BOS, "sep_token": EOS}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{key: SPECIALS[number] for key, number in named.items()},
        **({} if mask is None else {"mask_token": mask}),
    }
    return {"tokenizer.json": _tokenizer(artifact), "tokenizer_config.json": json.dumps(config, indent=2)}
