"""Models of Hugging Face, in and out: a folder becomes one model file, and a model file such a folder.

The vocabulary is renumbered on the way in, so that `<pad>`, `<unk>`, `<s>` and `</s>` come first as everywhere here;
the order is kept in the model file, and undone on the way out.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from regard.base.config import to_dict
from regard.base.errors import RegardError, UsageError, unknown
from regard.data.subwords.tokenizer import BOS, EOS, PAD
from regard.decoding.opening import strategy_of
from regard.interop.class_names import class_names, is_multi_label
from regard.interop.dense_steps import CLASSIFYING_STEPS, read_dense_steps, write_dense_steps
from regard.interop.export_folder import MANIFEST, making
from regard.interop.exported_tokenizer import tokenizer_files
from regard.interop.family import FAMILIES, NEVER, Family, FolderTokenizers, Order, Orders, standing_for
from regard.interop.marian_tokenizer import file_content
from regard.interop.model_folder import read_config, read_json, read_weights, write_folder
from regard.interop.picture_folder import read_picture_folder, write_picture_folder
from regard.interop.search_settings import search_of_pairs, search_of_texts
from regard.interop.sentence_folder import (
    SentenceSettings,
    is_sentence_folder,
    read_sentence_settings,
    without_heads,
    write_sentence_settings,
)
from regard.layers.feeds.gated import Gated
from regard.models.model import MODELS, Design
from regard.runs.artifact import Artifact, save_artifact
from regard.runs.snapshot import open_artifact

_OURS: Mapping[str, Callable[[Any], str]] = {
    "bert": lambda design: "bert",
    "gpt": lambda design: "gpt2",
    "swin": lambda design: "swin",
    "t5": lambda design: "t5",
    "transformer": lambda design: "marian" if design.norm_place == "after" else "pegasus",
    "vit": lambda design: "vit",
    "xlnet": lambda design: "xlnet",
}
"""the family that a model of ours is written as, if it was not imported"""
_SEARCH = "generation_config.json"


@dataclass(frozen=True)
class Imported:
    """What was imported, in a few words."""

    family: str
    task: str
    weights: int
    notes: tuple[str, ...] = ()
    """what of the folder's search is not read"""


def import_folder(folder: str | Path, out: str | Path) -> Imported:
    """Read a model folder and write it as one model file; nothing is written unless all of it can be read."""
    artifact = read_folder(Path(folder))
    save_artifact(out, artifact)
    told = artifact.extras["huggingface"]
    count = sum(weight.numel() for weight in artifact.weights.values())
    return Imported(told["config"]["model_type"], artifact.task, count, tuple(told.get("notes", ())))


def read_folder(folder: Path) -> Artifact:
    """The model of a folder, by whose name every error begins."""
    try:
        return _read_folder(folder)
    except RegardError as error:
        if str(error).startswith(str(folder)):
            raise
        raise type(error)(f"{folder}: {error}") from error


def _read_folder(folder: Path) -> Artifact:
    config, where = read_config(folder), str(folder / "config.json")
    family = _family(config, where)
    config = family.completed(config, where)
    task = "embed" if is_sentence_folder(folder) else family.task_of(config, where)[1]
    if family.reads == "pictures":
        return read_picture_folder(folder, config, family)
    family.model(config, where)  # refuses settings before weights are read, which takes longer
    tensors = read_weights(folder)
    config, tensors = family.told(config, tensors, str(folder))
    table = family.model(config, where)
    found = _with_all_rows(family, config, folder)
    subwords, orders = found.subwords, found.orders
    sentences, head = None, None
    if task == "embed":
        if "embed" not in family.tasks.values():
            raise RegardError(f"{folder / 'modules.json'}: sentence encoders of {family.type()} are not read")
        sentences = read_sentence_settings(folder, subwords["text"])
        table["pooling"] = sentences.pooling
        if sentences.dense is not None:
            task = "classify"
            table["pooled_activation"], head = read_dense_steps(folder, sentences.dense)
    design: Design = MODELS.make(table, f"{where}: model")
    if hasattr(design, "output_bias") and any(_partial(order) for order in orders.values()):
        design = replace(design, output_bias="fixed")  # type: ignore[type-var]
    sizes = {side: len(order) for side, order in orders.items()}
    extras = _extras(config, task, family, design, folder, sentences)
    sizes |= {name: len(extras[name]) for name in ("classes", "tags") if name in extras}
    sizes |= {"vector": 1} if task == "embed" else {}
    resolved = {"name": family.design, **to_dict(design)}
    weights = _weights(family, resolved, task, config, str(folder), tensors, orders, design, sizes, head)
    search, notes = _search(family, config, folder)
    first = next(iter(orders.values()))
    order: Any = first if all(one == first for one in orders.values()) else dict(orders)
    artifact = Artifact(
        config={"model": resolved, **({} if search is None else {"decoding": search})},
        task=task,
        sizes=sizes,
        tokenizers={side: own.to_json() for side, own in subwords.items()},
        extras={**extras, "huggingface": {"config": config, "order": order, "files": dict(found.files), **notes}},
        weights=weights,
        name=str(folder),
    )
    strategy_of(artifact)  # refuses a search that no command could do, such as one of -5 beams
    return artifact


def export_huggingface(model: str | Path, out: str | Path, *, force: bool = False, task: str | None = None) -> None:
    """Write a model as a folder that `transformers` loads; a sentence encoder's is also one of sentence-transformers.

    So is that of a classifier which pools a text otherwise than by its first token; `encode` there gives its logits.

    A model for another `task` than the one given is refused.
    """
    artifact = open_artifact(model)
    if task not in (None, artifact.task):
        raise UsageError(f"{model}: its task is {artifact.task}, but a model of the task {task} is needed here")
    told = artifact.extras.get("huggingface") or {}
    name = artifact.design().where
    if not told and name not in _OURS:
        raise UsageError(f"{model}: model.name is '{name}', but Hugging Face is written for {', '.join(_OURS)}")
    family = _family(told["config"], str(model)) if told else FAMILIES.make(_OURS[name](artifact.design()))
    if family.reads == "pictures":
        write_picture_folder(artifact, family, Path(out), force=force)
        return
    for size, what in (("transitions", "a chain of tags (CRF)"), ("factors", "factors of words")):
        if size in artifact.sizes:
            raise UsageError(f"{model}: has {what}, which a model of Hugging Face cannot have")
    design, ours = family.written_from(_spelled_out(artifact.design()), artifact.weights)
    resolved = {"name": name, **to_dict(design)}
    apart = artifact.task == "classify" and resolved["pooling"] != "first" and "embed" in family.tasks.values()
    shown = replace(artifact, task="embed") if apart else artifact  # with its head beside it
    config = _config(family, resolved, shown, told)
    _check_same(family, design, config, shown.task, str(model))
    kept = told.get("order") or {side: list(range(artifact.sizes[side])) for side in family.sides}
    orders = kept if isinstance(kept, dict) else dict.fromkeys(family.sides, kept)
    weights = family.further(config)
    for entry in family.entries(resolved, shown.task, config):
        weights |= entry.write(ours[entry.ours], orders)
    again = {name: other for name, other in family.repeated(config).items() if other in weights}
    weights |= {name: weights[other].clone() for name, other in again.items()}
    if shown.task == "embed":  # a model without a head, whose tensors have no prefix
        weights = {key.removeprefix(family.prefix): tensor for key, tensor in weights.items()}
    with making(out, force=force) as folder:
        texts = told.get("files") or tokenizer_files(artifact)
        files = {name: file_content(text, f"{model}: {name}") for name, text in texts.items()}
        write_folder(folder, config, weights, files)
        if shown.task == "embed":
            longest = (artifact.extras.get("frame") or {}).get("longest")
            dense = CLASSIFYING_STEPS if apart else None
            settings = SentenceSettings(resolved["pooling"], bool(artifact.extras.get("normalize")), longest, dense)
            write_sentence_settings(folder, settings, resolved["width"])
            if dense is not None:
                write_dense_steps(folder, dense, ours, resolved["pooled_activation"])
        (folder / MANIFEST).write_text(json.dumps({"kind": "regard export", "format": "huggingface"}), encoding="utf-8")


def _search(
    family: Family, config: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any] | None, dict[str, list[str]]]:
    """The table [decoding] of a folder, and notes; what `generation_config.json` says counts before the config."""
    place = folder / _SEARCH
    said = read_json(place) if place.is_file() else {}
    where = place if said else folder / "config.json"
    try:
        if family.sides[-1] == "target":
            return search_of_pairs(config, said, always=family.design == "transformer"), {}
        if family.design == "gpt":
            table, notes = search_of_texts(config, said)
            return table, {"notes": [f"{where}: {note}" for note in notes]} if notes else {}
    except (TypeError, ValueError) as error:
        raise RegardError(f"{where}: a setting of the search is of another kind: {error}") from error
    except RegardError as error:
        raise RegardError(f"{where}: {error}") from error
    return None, {}


def _family(config: Mapping[str, Any], where: str) -> Family:
    kind = str(config.get("model_type"))
    if kind not in FAMILIES.names:
        raise RegardError(unknown(f"{where}: model_type", kind, FAMILIES.names, "those that are read"))
    family: Family = FAMILIES.make(kind)
    return family


def _with_all_rows(family: Family, config: Mapping[str, Any], folder: Path) -> FolderTokenizers:
    """The tokenizers with all rows of the embeddings; where the decoder starts after another token, `<s>` is that."""
    found = family.vocabularies(folder, config)
    rows, start = family.rows(config), config.get("decoder_start_token_id", config.get("pad_token_id"))
    subwords, orders = {}, {}
    for side, own in found.subwords.items():
        order = list(found.orders[side])
        if family.sides[-1] == "target":
            order[BOS] = order[BOS] if start is None else int(start)
        else:
            _name_ends(order, config)
        orders[side] = _all_rows(order, rows[side], folder)
        subwords[side] = own.with_specials([f"<row {old}>" for old in orders[side][len(own) :]])
    return FolderTokenizers(subwords, orders, found.files)


def _name_ends(order: list[int | None], config: Mapping[str, Any]) -> None:
    """Where a tokenizer has no token of a name known here, `<s>` and `</s>` are those that the config names."""
    for new, key in ((EOS, "eos_token_id"), (BOS, "bos_token_id")):
        named = config.get(key)
        first = named[0] if isinstance(named, list) and named else named
        if order[new] is None and isinstance(first, int) and first not in (order[BOS], order[EOS]):
            order[new] = first


def _all_rows(order: list[int | None], rows: int, folder: Path) -> list[int | None]:
    """The order of the whole vocabulary: rows that are no tokens come last."""
    named = {old for old in order if old is not None}
    if max(named) >= rows:
        raise RegardError(
            f"{folder}: tokenizer.json has tokens up to number {max(named)}, but the model has {rows} embeddings; "
            "it belongs to another model"
        )
    return [*order, *(old for old in range(rows) if old not in named)]


def _partial(order: Order) -> bool:
    """Whether some tokens here are none there, or the same as another one; their logits are ruled out."""
    return len(standing_for(order)) < len(order)


def _extras(
    config: Mapping[str, Any],
    task: str,
    family: Family,
    design: Design,
    folder: Path,
    sentences: SentenceSettings | None,
) -> dict[str, Any]:
    """What the task keeps beside the weights; a text that is read whole begins with what is to be done with it."""
    if sentences is not None and sentences.dense is None:
        frame = {"longest": sentences.longest, "separators": family.separators}
        return {"normalize": sentences.normalize, "frame": frame}
    if task not in ("classify", "tag"):
        return {"split": "line"} if family.sides[-1] == "target" else {}
    longest = getattr(getattr(design, "positions", None), "length", None) if sentences is None else sentences.longest
    labels = class_names(config, str(folder / "config.json"))
    frame = {"longest": longest, "separators": family.separators}
    if task == "tag":
        return {"tags": labels, "frame": frame}
    several = is_multi_label(config)
    return {"classes": labels, "labels": "several" if several else "one", "texts": None, "frame": frame}


def _weights(
    family: Family,
    resolved: Mapping[str, Any],
    task: str,
    config: Mapping[str, Any],
    where: str,
    tensors: Mapping[str, torch.Tensor],
    orders: Orders,
    design: Design,
    sizes: Mapping[str, int],
    head: Mapping[str, torch.Tensor] | None = None,
) -> dict[str, torch.Tensor]:
    """Our tensors, each of the shape that the model needs; a `head` stands beside those of the folder."""
    entries = list(family.entries(resolved, task if head is None else "embed", config))
    if task == "embed" or head is not None:
        tensors = without_heads(tensors)
    tensors = family.named(tensors, {name for entry in entries for name in entry.theirs}, where)
    with torch.device("meta"):
        model = design.build(sizes)
    wanted = model.state_dict()
    made = dict(head or {})
    for name, weight in made.items():
        if weight.shape != wanted[name].shape:
            needed = list(wanted[name].shape)
            raise RegardError(f"{where}: its Dense steps give {name} the shape {list(weight.shape)}, not {needed}")
    for entry in entries:
        made[entry.ours] = entry.read(tensors, orders, where)
        found, needed = list(made[entry.ours].shape), list(wanted[entry.ours].shape)
        if found != needed:
            names = " and ".join(entry.theirs)
            raise RegardError(f"{where}: {names} give a tensor of shape {found}, but config.json asks for {needed}")
    first = {id(weight): name for name, weight in model.named_parameters(remove_duplicate=False) if name in made}
    for name, weight in model.named_parameters(remove_duplicate=False):
        if name not in made and id(weight) in first:  # tied
            made[name] = made[first[id(weight)]]
    if "output.bias" in wanted and "output.bias" not in made:
        chosen = set(standing_for(orders[family.sides[-1]]).values())
        made["output.bias"] = torch.tensor([0.0 if at in chosen else NEVER for at in range(sizes[family.sides[-1]])])
    return made


def _config(family: Family, resolved: Mapping[str, Any], artifact: Artifact, told: Mapping[str, Any]) -> dict[str, Any]:
    """Their settings of a model of ours; those of a folder that was imported stay where they say the same."""
    usual: dict[str, Any] = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
    usual |= {"model_type": family.type(), "dtype": "float32", **family.sized(artifact.sizes)}
    known = told.get("config") or {**family.fixed, **usual, **family.usual}
    also = artifact.task in family.also
    architectures = [name for name, task in family.tasks.items() if also or task == artifact.task]
    if not architectures:
        raise UsageError(f"{artifact.name}: the task {artifact.task} has no model of this kind in transformers")
    plain = {theirs: resolved[ours] for ours, theirs in family.names.items()}
    own = family.config(resolved)
    if told and family.same_positions:
        own = {key: value for key, value in own.items() if not key.startswith(("max_position", "n_positions"))}
    made = {**known, **plain, **own, "dtype": "float32"}
    made.pop("torch_dtype", None)  # its older name: the weights are written as they are here
    if not set(made.get("architectures") or ()) & set(architectures):
        made["architectures"] = architectures[:1]
    labels = artifact.extras.get("classes") or artifact.extras.get("tags")
    if labels is not None:
        made["id2label"] = {str(at): label for at, label in enumerate(labels)}
        made["label2id"] = {label: at for at, label in enumerate(labels)}
    if "classes" in artifact.extras:
        several = artifact.extras.get("labels") == "several"
        made["problem_type"] = "multi_label_classification" if several else "single_label_classification"
    return made


def _check_same(family: Family, design: Design, config: Mapping[str, Any], task: str, where: str) -> None:
    """Refuse by its name a setting that is not expressed there: read back, the settings must be the same."""
    again = MODELS.make(family.model(config, where), where)
    for field in fields(again):
        now, then = getattr(design, field.name), getattr(again, field.name)
        if now == then or field.name.endswith("dropout"):
            continue
        if field.name == "output_bias" and "fixed" in (now, then):  # a bias of zeros, or one that rules out tokens
            continue
        if field.name == "activation" and getattr(getattr(design, "feed", None), "activation", None) is not None:
            continue  # the feed has its own
        if field.name == "pooling" and task != "classify":
            continue  # said beside the model, or not used
        raise UsageError(
            f"{where}: model.{field.name} is {now!r}, which '{family.type()}' of transformers cannot express"
        )


def _spelled_out(design: Any) -> Any:
    """The design with defaults that depend on other settings as numbers."""
    usual = {"feedforward": 4 * design.width, "norm_epsilon": 1e-5 if design.norm == "layer" else 1e-6}
    if hasattr(design, "head_width"):
        usual["head_width"] = design.width // design.heads
    if isinstance(design.feed, Gated) and design.feed.activation is None:
        design = replace(design, feed=replace(design.feed, activation=design.activation))
    return replace(design, **{name: value for name, value in usual.items() if getattr(design, name) is None})
