"""How an encoder reads: the page of every kind of encoder, and that it stays small for long texts."""

import base64
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.apps.cli import main
from regard.decoding.predictor import TextReader
from regard.decoding.tagger import Tagger
from regard.inspection.explanation.read_text import ReadLayer, ReadText, look_at_reading
from tests.apps.commands.test_predict import written
from tests.decoding.readers import reader, vocabulary

TEXTS = {"classify": "the cat", "masked": "the <mask>"}
SIZES = {"classify": {"classes": ["a", "b"]}}


@pytest.mark.parametrize("task", ["classify", "masked"])
def test_every_kind_of_encoder_has_a_page(task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = written(tmp_path, task, **SIZES.get(task, {}))
    assert main(["inspect", str(model), TEXTS[task], "-o", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"effects":[' in page and '"moved":{' in page and "&lt;s&gt;" not in page
    assert "depends most on head" in capsys.readouterr().out
    assert main(["inspect", str(model), TEXTS[task], "--no-effects", "-o", str(tmp_path / "page.html")]) == 0
    assert '"effects":[]' in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "depends most on head" not in capsys.readouterr().out
    assert main(["inspect", str(model), TEXTS[task], "--target", "x", "-o", str(tmp_path / "page.html")]) == 2


def test_words_and_vectors_are_answers_too() -> None:
    tagged = look_at_reading(Tagger(reader(tags=2), vocabulary(), ["N", "V"]), "the cat")
    assert tagged.tokens == ("<s>", "the", "cat", "</s>") and len(tagged.answer.split()) == 2
    embedded = look_at_reading(TextReader(reader(vector=1), vocabulary()), "the cat")
    for read in (tagged, embedded):
        (layer,) = read.layers
        assert layer.weights.shape == layer.moved.shape == (2, 4, 4)
        torch.testing.assert_close(layer.moved.sum(-1), torch.ones(2, 4))
        assert max(map(abs, layer.effects)) > 1e-4


def test_largest_weights_are_packed() -> None:
    weights = torch.rand(2, 5, 5)
    read = ReadText("a", tuple("abcde"), "yes", (ReadLayer("l", weights, weights, (0.0, 0.0)),))
    packed = read.to_dict()["layers"][0]["weights"]
    at = np.frombuffer(base64.b64decode(packed["at"]), dtype="<u2").reshape(2, 5, 5)
    size = np.frombuffer(base64.b64decode(packed["size"]), dtype=np.uint8).reshape(2, 5, 5)
    unpacked = np.zeros((2, 5, 5))
    np.put_along_axis(unpacked, at.astype(int), size / 255, axis=-1)
    np.testing.assert_allclose(unpacked, weights.numpy(), atol=0.5 / 255 + 1e-6)


def test_a_page_of_512_tokens_and_144_heads_stays_small() -> None:
    weights = torch.softmax(torch.randn(12, 512, 512), -1)
    layers = tuple(ReadLayer(f"l{at}", weights, weights, (0.0,) * 12) for at in range(12))
    page = ReadText("long", tuple("word" for _ in range(512)), "yes", layers).to_html("long")
    assert len(page) < 8_000_000
