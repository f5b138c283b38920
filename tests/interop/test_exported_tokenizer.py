"""Tokenizers as transformers reads them."""

import json
from pathlib import Path

from transformers import AutoTokenizer

from regard.interop.exported_tokenizer import tokenizer_files
from regard.runs.artifact import Artifact
from tests.decoding.readers import vocabulary


def test_an_encoder_reads_texts_between_their_ends(tmp_path: Path) -> None:
    subwords = vocabulary()
    artifact = Artifact(config={}, task="classify", sizes={}, tokenizers={"text": subwords.to_json()})
    for name, text in tokenizer_files(artifact).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ids = AutoTokenizer.from_pretrained(tmp_path)("two dogs")["input_ids"]
    assert ids == [2, *subwords.encode("two dogs"), 3]


def test_a_target_of_its_own_has_a_folder(tmp_path: Path) -> None:
    source, target = vocabulary(), vocabulary().with_specials(["<x>"])
    tokenizers = {"source": source.to_json(), "target": target.to_json()}
    files = tokenizer_files(Artifact(config={}, task="translate", sizes={}, tokenizers=tokenizers))
    assert set(files) == {
        "tokenizer.json", "tokenizer_config.json", "target/tokenizer.json", "target/tokenizer_config.json",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert AutoTokenizer.from_pretrained(tmp_path)("two dogs")["input_ids"] == [*source.encode("two dogs"), 3]
    pieces = json.loads(files["target/tokenizer.json"])["added_tokens"]
    assert any(token["content"] == "<x>" for token in pieces)
