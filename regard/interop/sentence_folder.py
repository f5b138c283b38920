"""The folder of a sentence encoder, as sentence-transformers writes it: a model, its pooling, its normalization.

| file                                  | says                                                            |
|---------------------------------------|-----------------------------------------------------------------|
| `modules.json`                        | the steps: Transformer, Pooling and, if there is one, Normalize |
|                                       | or, of a classifier, Dense and Dense (`dense_steps`)            |
| `1_Pooling/config.json`               | the pooling: mean, the first token or the maximum               |
| `sentence_bert_config.json`           | the most tokens that are read                                   |
| `config_sentence_transformers.json`   | versions, and a text that may stand before every input          |

Reimers and Gurevych, 2019, https://arxiv.org/abs/1908.10084.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.base.errors import RegardError
from regard.base.files import read_text
from regard.data.subwords.tokenizer import Subwords
from regard.interop.model_folder import read_json
from regard.models.headed import Pooling

_STEPS = ("Transformer", "Pooling", "Normalize")
_CLASSIFYING = ("Transformer", "Pooling", "Dense", "Dense")
_MODES: dict[str, Pooling] = {"mean_tokens": "mean", "cls_token": "first", "max_tokens": "max"}
_NAMES: dict[str, Pooling] = {"mean": "mean", "cls": "first", "max": "max"}
_MODE = "pooling_mode_"
_HEADS = re.compile(r"(^|\.)(cls\.|lm_head\.|classifier\.|pre_classifier\.|vocab_|qa_outputs\.)")


@dataclass(frozen=True)
class SentenceSettings:
    """What a sentence encoder has beside its model."""

    pooling: Pooling
    normalize: bool
    longest: int | None
    """the most tokens of a text that are read, special ones included"""
    dense: tuple[str, str] | None = None
    """the folders of the steps that classify"""


def is_sentence_folder(folder: Path) -> bool:
    """Whether a folder is one of sentence-transformers."""
    return (folder / "modules.json").is_file()


def read_sentence_settings(folder: Path, subwords: Subwords) -> SentenceSettings:
    """The settings of a folder; without steps of its own, the mean is pooled. What is not known here is refused."""
    if not is_sentence_folder(folder):
        return SentenceSettings("mean", False, None)
    steps = _steps(folder)
    kinds, paths = [kind for kind, _ in steps], [path for _, path in steps]
    if (kinds != list(_STEPS[: len(steps)]) or len(steps) < 2) and kinds != list(_CLASSIFYING):
        shown = ", ".join(kinds) or "none"
        raise RegardError(
            f"{folder / 'modules.json'}: has the steps {shown}, but Transformer, Pooling and, at the end, Normalize "
            "are those that are read, or Dense twice for classes"
        )
    for path in paths[1:]:
        if Path(path).name != path:
            raise RegardError(f"{folder / 'modules.json'}: a step is in '{path}', but must be in a folder beside it")
    if paths[0] not in ("", "."):
        raise RegardError(f"{folder / 'modules.json'}: its Transformer is in '{paths[0]}', not beside it")
    _check_prompt(folder)
    dense = (paths[2], paths[3]) if kinds == list(_CLASSIFYING) else None
    pooling = _pooling(folder / paths[1] / "config.json")
    return SentenceSettings(pooling, "Normalize" in kinds, _longest(folder, subwords), dense)


def without_heads(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a model without those of its head, which a sentence encoder does not use."""
    return {name: tensor for name, tensor in tensors.items() if not _HEADS.search(name)}


def write_sentence_settings(folder: Path, settings: SentenceSettings, width: int) -> None:
    """Write the files beside those of the model, and the folders of its steps."""
    kinds = _CLASSIFYING if settings.dense is not None else _STEPS if settings.normalize else _STEPS[:2]
    modules = [
        {
            "idx": at,
            "name": str(at),
            "path": f"{at}_{kind}" if at else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for at, kind in enumerate(kinds)
    ]
    modes = {f"{_MODE}{mode}": pooling == settings.pooling for mode, pooling in _MODES.items()}
    for step in modules[1:]:
        (folder / str(step["path"])).mkdir()
    files: dict[str, Any] = {
        "modules.json": modules,
        "1_Pooling/config.json": {"word_embedding_dimension": width, **modes},
        "sentence_bert_config.json": {"max_seq_length": settings.longest, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": {}, "default_prompt_name": None},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _steps(folder: Path) -> list[tuple[str, str]]:
    """The kind of each step, and its folder."""
    path = folder / "modules.json"
    try:
        return [(str(step["type"]).rpartition(".")[2], str(step["path"])) for step in json.loads(read_text(path))]
    except (ValueError, KeyError, TypeError) as error:
        raise RegardError(f"{path}: must be a list of steps, each with its type and path ({error})") from error


def _pooling(path: Path) -> Pooling:
    content = read_json(path)
    named = content.get("pooling_mode")
    chosen = [named] if isinstance(named, str) else [key.removeprefix(_MODE) for key in content if _is_on(content, key)]
    known: Mapping[str, Pooling] = {**_MODES, **_NAMES}
    if len(chosen) != 1 or chosen[0] not in known:
        shown = " and ".join(map(str, chosen)) or "none"
        raise RegardError(f"{path}: the pooling is {shown}, but one of {', '.join(_NAMES)} is what can be read")
    return known[chosen[0]]


def _is_on(content: Mapping[str, Any], key: str) -> bool:
    return key.startswith(_MODE) and bool(content[key])


def _longest(folder: Path, subwords: Subwords) -> int | None:
    path = folder / "sentence_bert_config.json"
    if not path.is_file():
        return None
    content = read_json(path)
    if content.get("do_lower_case") and subwords.normalize("A") != "a":
        raise RegardError(f"{path}: do_lower_case is true, but the tokenizer tells upper from lower case")
    longest = content.get("max_seq_length")
    if longest is not None and (not isinstance(longest, int) or longest < 3):
        raise RegardError(f"{path}: max_seq_length must be a number of tokens, but is {longest!r}")
    return longest


def _check_prompt(folder: Path) -> None:
    path = folder / "config_sentence_transformers.json"
    name = read_json(path).get("default_prompt_name") if path.is_file() else None
    if name is not None:
        raise RegardError(f"{path}: default_prompt_name is {name!r}, but a text before every input is not read here")
