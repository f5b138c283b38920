"""Model files as a stranger could write them, with a right checksum: each named, and what is wrong with it."""

import base64
import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact, save_artifact
from regard.runs.tensors import read_tensors, write_tensors
from tests.data.examples import subwords

MODEL = {"encoder_layers": 1, "decoder_layers": 2, "width": 8, "feedforward": 8, "heads": 2}
HUGE = 10**12
Texts = dict[str, Any]
Tensors = dict[str, torch.Tensor]
Forgery = Callable[[Texts, Tensors], None]


@cache
def model() -> Artifact:
    """A small model with everything that a file can hold."""
    torch.manual_seed(1)
    text, size = subwords().to_json(), len(subwords())
    sizes = {"source": size, "target": size}
    return Artifact(
        config={"name": "a-b", "model": {"name": "transformer", **MODEL}, "decoding": {"name": "beam", "size": 2}},
        task="translate",
        sizes=sizes,
        weights=Transformer(**MODEL).build(sizes).state_dict(),
        tokenizers={"source": text, "target": text},
        extras={"max_source": 20, "alignment": {"heads": [["decoder.layers.0.cross", 1]], "shift": 0}},
    )


def write(path: Path, forge: Forgery) -> Path:
    """The model's file after a change to its texts, which are parsed, and tensors."""
    save_artifact(path, model())
    tensors, texts = read_tensors(path)
    parsed = {name: text if name in ("kind", "version") else json.loads(text) for name, text in texts.items()}
    forge(parsed, tensors)
    written = {
        name: part if isinstance(part, str) and name != "task" else json.dumps(part) for name, part in parsed.items()
    }
    write_tensors(path, tensors, written)
    return path


def put(*path: Any) -> Forgery:
    """Replace what stands at a path in the texts by the last value."""

    def forge(texts: Texts, _: Tensors) -> None:
        place: Any = texts
        for name in path[:-2]:
            place = place[name]
        place[path[-2]] = path[-1]

    return forge


def tokenizer(change: Callable[[dict[str, Any]], object]) -> Forgery:
    """Change the JSON of both tokenizers."""

    def forge(texts: Texts, _: Tensors) -> None:
        content = json.loads(texts["tokenizers"]["target"])
        change(content)
        texts["tokenizers"] = dict.fromkeys(("source", "target"), json.dumps(content))

    return forge


def weights(change: Callable[[Tensors, str], object]) -> Forgery:
    """Change the tensors; the name is that of the first."""

    def forge(_: Texts, tensors: Tensors) -> None:
        change(tensors, sorted(tensors)[0])

    return forge


def _bomb() -> dict[str, Any]:
    packed = base64.b85encode(zlib.compress(bytes(2**26), 9)).decode()
    return {"source": 1, "frequent": 1, "target": 9, "tokens": packed}


FORGERIES: dict[str, Forgery] = {
    **{f"config is {bad!r}": put("config", bad) for bad in ([], None, 5, "x")},
    **{
        f"sizes are {bad!r}": put("sizes", bad) for bad in ([], {"source": "9"}, {"source": -1}, {"source": True}, None)
    },
    **{f"tokenizers are {bad!r}": put("tokenizers", bad) for bad in ([], {}, {"source": 5}, "x")},
    **{f"extras are {bad!r}": put("extras", bad) for bad in ([], 5)},
    **{f"tied is {bad!r}": put("tied", bad) for bad in ([], {"a": 5}, {"a": "nothing"}, {"a": ["b"]})},
    **{f"task is {bad!r}": put("task", bad) for bad in ("", "fly", 5, None)},
    "task is another": put("task", "language"),
    "no model": put("config", "model", None),
    "model is a list": put("config", "model", [1]),
    "model is unknown": put("config", "model", {"name": "nothing"}),
    **{f"decoding is {bad!r}": put("config", "decoding", bad) for bad in ([1], [], "", 0, False)},
    **{f"data is {bad!r}": put("config", "data", bad) for bad in ("x", "", [])},
    **{f"{part} is none": put("config", "model", part, None) for part in ("mixer", "score", "normalizer", "feed")},
    "a setting is unknown": put("config", "model", "wings", 2),
    **{
        f"{name} is {bad!r}": put("config", "model", name, bad)
        for name in ("width", "heads", "decoder_layers", "feedforward")
        for bad in (0, -1, HUGE, 2**40, 10**30, 1.5, "x", None)
    },
    "dropout is not a number": put("config", "model", "dropout", float("nan")),
    "a vocabulary of a trillion": put("sizes", "target", 2**31 - 1),
    "another vocabulary": put("sizes", "source", 5),
    **{f"positions are {bad}": put("config", "model", "positions", bad) for bad in (f"learned({HUGE})", "learned(-1)")},
    **{
        f"beam {name} is {bad!r}": put("config", "decoding", name, bad)
        for name, bad in (
            ("size", HUGE),
            ("size", 0),
            ("n_best", HUGE),
            ("max_length", HUGE),
            ("max_ratio", 1e30),
            ("max_ratio", float("nan")),
            ("max_extra", HUGE),
            ("prefix", [HUGE]),
            ("suppress", [-1]),
            ("suppress", ["x"]),
            ("length_penalty", float("nan")),
            ("name", "fly"),
            ("name", [1]),
        )
    },
    **{f"max_source is {bad!r}": put("extras", "max_source", bad) for bad in ("x", -5, 1.5, [])},
    **{
        f"alignment is {bad!r}": put("extras", "alignment", bad)
        for bad in ([], "x", {"heads": 5, "shift": 0}, {"heads": [["nowhere", 0]], "shift": 0})
    },
    **{
        f"alignment {name} is {bad!r}": put("extras", "alignment", name, bad)
        for name, bad in (
            *(("heads", [["decoder.layers.0.cross", head]]) for head in (-1, 2, 0.5, float("inf"), None)),
            *(("heads", []), ("shift", -1), ("shift", 2), ("shift", HUGE), ("shift", float("inf")), ("score", 10**400)),
        )
    },
    "int8 weights": weights(lambda own, name: own.update({name: own[name].to(torch.int8)})),
    "bool weights": weights(lambda own, name: own.update({name: own[name] > 0})),
    "int64 weights": weights(lambda own, name: own.update({name: own[name].long()})),
    "a tensor is missing": weights(lambda own, name: own.pop(name)),
    "a tensor is surplus": weights(lambda own, name: own.update(more=torch.zeros(2))),
    "a tensor has another shape": weights(lambda own, name: own.update({name: own[name][None]})),
    "a tokenizer with an id of 2^31": tokenizer(lambda own: own["model"]["vocab"].update(x=2**31)),
    "a tokenizer with an id twice": tokenizer(lambda own: own["model"]["vocab"].update(x=5)),
    "a tokenizer with a negative id": tokenizer(lambda own: own["model"]["vocab"].update(x=-1)),
    "a tokenizer with another piece": tokenizer(
        lambda own: own["model"]["vocab"].update({"another": len(own["model"]["vocab"])})
    ),
    "a tokenizer with a merge of nothing": tokenizer(lambda own: own["model"]["merges"].append(["qq", "zz"])),
    "a tokenizer that fills up": tokenizer(
        lambda own: own.update(
            padding={
                "strategy": {"Fixed": 10**9},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "x",
            }
        )
    ),
    "a tokenizer that cuts off": tokenizer(
        lambda own: own.update(
            truncation={"max_length": 1, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
        )
    ),
    "a tokenizer that drops merges": tokenizer(lambda own: own["model"].update(dropout=0.9)),
    "a tokenizer with an added id of 2^31": tokenizer(lambda own: own["added_tokens"][0].update(id=2**31)),
    "a tokenizer with another unknown token": tokenizer(lambda own: own["model"].update(unk_token="")),
    "a tokenizer with a model of no kind": tokenizer(lambda own: own["model"].update(type="Neural")),
    "a tokenizer with a step of no kind": tokenizer(lambda own: own.update(normalizer={"type": "Boom"})),
    "a tokenizer with a nested normalizer": tokenizer(lambda own: own.update(normalizer=_nested({"type": "NFC"}, 200))),
    "a tokenizer that is empty": tokenizer(dict.clear),
    "a tokenizer that is no JSON": put("tokenizers", {"source": "[" * 10_000, "target": "{"}),
    "a shortlist that is no shortlist": put("extras", "shortlist", {"tokens": 5}),
    "a shortlist that is a bomb": put("extras", "shortlist", _bomb()),
}


def _nested(step: dict[str, Any], depth: int) -> dict[str, Any]:
    for _ in range(depth):
        step = {"type": "Sequence", "normalizers": [step]}
    return step
