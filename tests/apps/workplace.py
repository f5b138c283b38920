"""A folder in which every example of the commands' help finds what it names: tiny files, and models of two steps."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docx
import numpy as np
import tomli_w
import torch
from PIL import Image
from safetensors.torch import save_file

from regard.apps.cli import main
from regard.base.files import write_text
from regard.runs.artifact import load_artifact, save_artifact
from regard.tasks.run import run_of
from regard.tasks.start import train_run
from regard.training.progress import Silent
from tests.apps import toy
from tests.data.formats.workbook import write_workbook
from tests.tasks import graph_run, picture_run

FEW = {"steps": 2, "validate_every": 1, "checkpoint_every": 2, "log_every": 1, "lanes": 1}
WORDS = {"kind": "word", "min_count": 1}
READER = {"name": "bert", "layers": 1, "width": 8, "heads": 2, "positions": "learned(64)"}
PAIRS = {"train": ["train.en", "train.de"], "dev": ["dev.en", "dev.de"]}
WRITER = {"name": "transformer", "width": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feedforward": 16}
TEXT = {"data": {"train": ["text.txt"], "dev": ["dev.txt"]}, "subwords": WORDS, "streams": {"rows": 2, "length": 8}}
LABELED = {"data": {"train": ["train.tsv"], "dev": ["test.tsv"]}, "subwords": WORDS}
TABLES: dict[str, dict[str, Any]] = {
    "en-de": {"data": PAIRS, "subwords": WORDS, "model": WRITER, "decoding": "beam(size=2, max_length=6)"},
    "de-en": {
        "data": {"train": ["train.de", "train.en"], "dev": ["dev.de", "dev.en"]},
        "subwords": WORDS,
        "model": WRITER,
    },
    "lm": {"task": "language", **TEXT, "model": {**READER, "name": "gpt"}},
    "xl": {
        "task": "language",
        **TEXT,
        "streams": {"rows": 2, "length": 8, "context": 8},
        "model": {"name": "transformer_xl", "layers": 1, "width": 8, "heads": 2},
    },
    "lstm": {"task": "language", **TEXT, "model": {"name": "rnn_lm", "width": 8}},
    "bert": {"task": "masked", **TEXT, "model": READER},
    "reviews": {"task": "classify", **LABELED, "model": READER},
    "minilm": {"task": "embed", "data": {"train": ["lines.txt"]}, "subwords": WORDS, "model": READER},
    "hull": {
        "task": "points",
        "data": {"problem": "hull(5)", "batch": 4, "validation": 4},
        "model": {"name": "pointer", "width": 8, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
    },
    "digits": {
        "task": "pictures",
        "data": {"train": ["train.npz"], "dev": ["dev.npz"]},
        "model": {"name": "vit", "layers": 1, "width": 8, "heads": 2, "patch": 4},
    },
    "cora": {
        "task": "nodes",
        "data": {"train": ["cora.npz"]},
        "model": {"name": "graph_network", "width": 8, "message": {"name": "gat", "heads": 2}},
    },
    "vae": {
        "task": "reconstruct",
        "data": {"source": "sprites(side=8, sizes=1, angles=2, places=4)", "batch": 16},
        "model": {"name": "vae", "code": 3, "width": 16, "layers": 1},
    },
}
METRICS = {"points": "exact", "pictures": "accuracy", "nodes": "accuracy"}
SAME = {
    "en-de": ("a", "b", "old", "new", "with-attention", "without", "small-1", "small-2", "wide-1", "wide-2"),
    "lm": ("novels", "elman", "gpt"),
    "lstm": ("lstm-attention",),
}
"""runs whose names differ, though not what is in them"""
PARTS = {f"{part}.{side}" for part in ("train", "dev", "test") for side in ("en", "de")}
TMX = """<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>{}</body></tmx>"""
UNIT = '<tu><tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
CHAT = "{% for message in messages %}{{ message.content }}{% endfor %}"


def furnish(place: Path) -> None:
    """Write all files and train all models."""
    _write_texts(place)
    _write_tables(place)
    _write_arrays(place)
    for name, tables in TABLES.items():
        metric = METRICS.get(tables.get("task", ""), "loss")
        run = {**tables, "training": FEW | {"metric": metric}}
        if name == "minilm":
            run["training"].pop("validate_every")
        train_run(run_of(run, name), place / "runs" / name, place, Silent())
    for name, others in SAME.items():
        for other in others:
            shutil.copytree(place / "runs" / name, place / "runs" / other)
    _write_models(place)
    runs = {"run": "en-de", "window": "lm", "performer": "lm", "full": "lm", "recipes/multi30k": "en-de"}
    for file, name in runs.items():
        (place / file).parent.mkdir(exist_ok=True)
        made = {"name": Path(file).name, **TABLES[name], "training": FEW}
        write_text(place / f"{file}.toml", tomli_w.dumps(made))


def _write_texts(place: Path) -> None:
    toy.write_corpus(place)
    lines = {
        "text.txt": [source for source, _ in toy.pairs(40)],
        "dev.txt": [source for source, _ in toy.pairs(6, skip=40)],
        "test.txt": [source for source, _ in toy.pairs(40, skip=46)],
        "lines.txt": [source for source, _ in toy.pairs(16)],
        "input.en": ["the dog", "the cat"],
        "input.txt": ["the dog", "the cat"],
        "queries.txt": ["the dog"],
        "prompts.txt": ["the", "dog"],
        "reviews.txt": ["the dog", "the cat"],
        "lines-with-a-mask.txt": ["the <mask> sees"],
        "graph-names.txt": ["cora.npz"],
        "terms.tsv": ["dog\thund"],
        "keys.txt": ["secret"],
        "page.en.html": ["<p>the <b>dog</b></p>"],
        "labels.txt": ["a", "b"] * 8,
        "test.links": ["0-0 1-1"] * 12,
        "dev.links": ["0-0 1-1"] * 12,
        "words.conll": [f"{word} {'X' if word == 'the' else 'O'}".strip() for word in ("the", "dog", "sees") * 9],
        "points.jsonl": ['{"points": [[0, 0], [1, 0], [0.5, 0.4], [0, 1], [0.2, 0.3]]}'],
    }
    for name, text in lines.items():
        toy.write(place / name, text)
    sentences = "\n\n".join("the X\ndog O\nsees O" for _ in range(30))
    write_text(place / "words.conll", sentences + "\n")
    shutil.copytree(place, place / "corpus", ignore=lambda _, names: {*names} - PARTS)
    shutil.copytree(place / "corpus", place / "multi30k")
    for side in ("en", "de"):
        shutil.copy(place / f"test.{side}", place / f"test.tok.{side}")


def _write_tables(place: Path) -> None:
    pairs = toy.pairs(60)
    for name, some in {"pairs": pairs, "test": pairs[:8]}.items():
        write_workbook(place / f"{name}.xlsx", {"Sheet": [("English", "German"), *some]})
    write_text(place / "pairs.csv", "English,German\n" + "".join(f"{one},{other}\n" for one, other in pairs))
    write_text(place / "pairs.tsv", "".join(f"{one}\t{other}\n" for one, other in pairs[:6]))
    write_text(place / "memory.tmx", TMX.format("".join(UNIT.format(*pair) for pair in pairs)))
    labeled = [("good" if "dog" in text else "bad", text) for text, _ in toy.pairs(120)]
    write_text(place / "train.tsv", "".join(f"{label}\t{text}\n" for label, text in labeled[:60]))
    write_text(place / "test.tsv", "".join(f"{label}\t{text}\n" for label, text in labeled[60:]))
    write_text(place / "reviews.tsv", "".join(f"{label}\t{text}\n" for label, text in labeled))
    write_text(place / "reviews.csv", "label,text\n" + "".join(f"{label},{text}\n" for label, text in labeled))
    document = docx.Document()
    document.add_paragraph("the dog")
    document.save(str(place / "report.docx"))


def _write_arrays(place: Path) -> None:
    picture_run.write_bars(place)
    graph_run.write_graph(place).rename(place / "cora.npz")
    draw = np.random.default_rng(1)
    for folder in ("animals/cat", "animals/dog", "pictures"):
        (place / folder).mkdir(parents=True)
        for at in range(12):
            pixels = draw.integers(0, 256, (8, 8), dtype=np.uint8)
            Image.fromarray(pixels).save(place / folder / f"{at}.png")
    for name in ("seven.png", "eight.png"):
        shutil.copy(place / "pictures" / "0.png", place / name)
    np.save(place / "vectors.npy", draw.normal(size=(60, 8)).astype(np.float32))
    factors = draw.integers(0, 3, (60, 2))
    sprites = draw.random((60, 8, 8)) + factors[:, :1, None]
    np.savez(place / "sprites.npz", inputs=sprites.astype(np.float32), factors=factors)
    tables = {"rows": ["le", "chat"], "columns": ["the", "cat"], "weights": [[0.9, 0.1], [0.2, 0.8]]}
    write_text(place / "attention.json", json.dumps(tables))
    save_file({"weights": torch.softmax(torch.randn(3, 3), -1)}, place / "attention.safetensors")
    save_file({"decoder.0.cross": torch.softmax(torch.randn(1, 4, 3, 3), -1)}, place / "layers.safetensors")
    write_text(place / "mine.py", "from torch.nn.functional import scaled_dot_product_attention as attend\n")


def _write_models(place: Path) -> None:
    files: Mapping[str, str] = {"en-de": "en-de a b models/first", "minilm": "minilm", "bert": "bert"}
    (place / "models").mkdir()
    for name, given in files.items():
        for file in given.split():
            shutil.copy(place / "runs" / name / "model.safetensors", place / f"{file}.safetensors")
    language = load_artifact(place / "runs" / "lm" / "model.safetensors")
    save_artifact(
        place / "qwen.safetensors", language.with_extras(huggingface={"files": {"chat_template.jinja": CHAT}})
    )
    shutil.copy(place / "en-de.safetensors", place / "t5.safetensors")
    before = Path.cwd()
    os.chdir(place)
    try:
        assert main(["export", "bert.safetensors", "--to", "huggingface", "--out", "bert-base-uncased"]) == 0
        assert main(["export", "minilm.safetensors", "--to", "sentence-transformers", "--out", "all-MiniLM-L6-v2"]) == 0
        assert main(["export", "runs/en-de", "--to", "ctranslate2", "--out", "en-de.ct2"]) == 0
        assert main(["shortlist", "runs/en-de", "train.en", "train.de"]) == 0
    finally:
        os.chdir(before)
