"""A folder as Hugging Face writes it: `config.json`, `model.safetensors` (also sharded), `tokenizer.json`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import read_text
from regard.data.subwords.formats import load_subwords, original_ids
from regard.data.subwords.tokenizer import Subwords

WEIGHTS = "model.safetensors"
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"),
    "generation_config.json",
)
"""the texts of a folder that are written back as they were"""
_INDEX = "model.safetensors.index.json"
_PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.bin", "tf_model.h5", "flax_model.msgpack")


def read_json(path: Path) -> dict[str, Any]:
    """The object of a JSON file."""
    try:
        content = json.loads(read_text(path))
    except ValueError as error:
        raise RegardError(f"{path}: not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise RegardError(f"{path}: must hold an object")
    return content


def read_config(folder: Path) -> dict[str, Any]:
    """The settings of a model folder."""
    if not (folder / "config.json").is_file():
        raise RegardError(f"{folder}: not the folder of a model: it has no config.json")
    return read_json(folder / "config.json")


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors, from one file or from its shards."""
    if (folder / WEIGHTS).is_file():
        return read_weight_file(folder / WEIGHTS)
    if (folder / _INDEX).is_file():
        table = read_json(folder / _INDEX).get("weight_map")
        if not isinstance(table, dict):
            raise RegardError(f"{folder / _INDEX}: has no weight_map")
        if not all(isinstance(name, str) for name in table.values()):
            raise RegardError(f"{folder / _INDEX}: weight_map must give every tensor the name of a file")
        found: dict[str, Tensor] = {}
        for name in sorted(set(table.values())):
            if Path(name).name != name or not (folder / name).is_file():
                raise RegardError(f"{folder}: the shard {name} is missing, which {_INDEX} names")
            found |= read_weight_file(folder / name)
        for tensor, name in table.items():
            if tensor not in found:
                raise RegardError(f"{folder / name}: has no tensor '{tensor}', which {_INDEX} says it has")
        return found
    for name in _PICKLES:
        if (folder / name).is_file():
            raise RegardError(
                f"{folder / name}: only safetensors are read, since other files can run code; convert it in "
                f"transformers with AutoModel.from_pretrained(folder).save_pretrained(folder)"
            )
    raise RegardError(f"{folder}: has no {WEIGHTS}")


def read_tokenizer(folder: Path) -> tuple[Subwords, list[int | None], dict[str, str]]:
    """The tokenizer with our special tokens first, the id that each token has there, and the texts of its files."""
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise RegardError(
            f"{folder}: has no tokenizer.json; AutoTokenizer.from_pretrained(folder).save_pretrained(folder) writes one"
        )
    subwords = load_subwords(path)
    files = {name: read_text(folder / name) for name in TOKENIZER_FILES if (folder / name).is_file()}
    return subwords, original_ids(files["tokenizer.json"], subwords), files


def write_folder(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor], files: Mapping[str, bytes]
) -> None:
    """Write a folder that `transformers` loads; `files` are those of its tokenizer, by name."""
    save_file(dict(weights), folder / WEIGHTS, metadata={"format": "pt"})
    text = json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True)
    (folder / "config.json").write_text(f"{text}\n", encoding="utf-8")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


def read_weight_file(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise RegardError(f"{path}: not a safetensors file that can be read: {error}") from error
