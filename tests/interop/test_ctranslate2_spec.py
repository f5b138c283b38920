import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from regard.attention.record import record
from regard.base.errors import RegardError, UsageError
from regard.data.pairs import pad
from regard.data.subwords.tokenizer import EOS
from regard.decoding.translation import Pair
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.interop.ctranslate2_spec import LayerHeads, alignment_heads, check_expressible, check_model, library
from regard.interop.ctranslate2_translator import CTranslate2Translator
from regard.layers.pointer_generator import Copying
from regard.loading import load
from regard.models.gpt import Gpt
from regard.models.seq2seq import Seq2seq
from regard.models.transformer import Transformer
from tests.data.examples import LINES
from tests.interop.examples import SMALL, write

TEXTS = list(dict.fromkeys(LINES))
EXPRESSIBLE = {
    "pre-norm": {},
    "post-norm": {"norm_place": "after", "activation": "gelu"},
    "separate": {"tie": "none", "activation": "gelu_tanh"},
    "tied target": {"tie": "target", "activation": "silu"},
    "shared key heads": {"key_heads": 2, "activation": "tanh"},
    "learned": {"positions": "learned(96)", "score": "dot"},
    "no positions": {"positions": None, "score": "scaled_dot(0.3)"},
    "other waves": {"positions": "sinusoidal(base=500, first=1)"},
}


def both(tmp_path: Path, design: Transformer, **extras: object) -> tuple[object, CTranslate2Translator]:
    pytest.importorskip("ctranslate2")
    file = write(tmp_path / "model.safetensors", design, **extras)
    return load(file), CTranslate2Translator(export_ctranslate2(file, tmp_path / "export"), threads=1)


@pytest.mark.parametrize("settings", EXPRESSIBLE.values(), ids=EXPRESSIBLE)
def test_every_variant_gives_the_log_probabilities_of_the_model(settings: dict[str, object], tmp_path: Path) -> None:
    ours, theirs = both(tmp_path, Transformer(**SMALL | settings))
    wanted, found = (one.score(TEXTS[:3], TEXTS[3:]) for one in (ours, theirs))
    for one, other in zip(wanted, found, strict=True):
        assert other == pytest.approx(one, abs=2e-4)


def test_the_chosen_heads_are_those_whose_weights_come_out(tmp_path: Path) -> None:
    layer, heads = "decoder.layers.1.cross", [3, 1]
    alignment = {"heads": [[layer, head] for head in heads], "shift": 0}
    ours, theirs = both(tmp_path, Transformer(**SMALL | {"key_heads": 2}), alignment=alignment)
    ids = [tuple(ours.source.encode(text)) for text in TEXTS[:2]]
    (weights,) = theirs.attention([Pair(TEXTS[0], ids[0], TEXTS[1], ids[1])])
    source, length = pad([np.array([*ids[0], EOS])])
    read = torch.tensor([[2, *ids[1]]])
    with torch.no_grad(), record(ours.models[0], layer, heads=heads) as seen:
        ours.models[0](source, length, read)
    wanted = seen[layer][0][0].mean(0)[:, :-1]
    assert weights.shape == wanted.shape
    np.testing.assert_allclose(weights, wanted, atol=1e-5)


def test_heads_that_align() -> None:
    design = Transformer(**SMALL)
    assert alignment_heads(design, {}) == LayerHeads(1, (0, 1, 2, 3))
    named = [["decoder.layers.2.cross", 1], ["decoder.layers.2.cross", 0]]
    assert alignment_heads(design, {"alignment": {"heads": named, "shift": 1}}) == LayerHeads(2, (1, 0), 1)
    apart = [["decoder.layers.2.cross", 1], ["decoder.layers.0.cross", 0]]
    assert alignment_heads(design, {"alignment": {"heads": apart, "shift": 1}}) is None


@pytest.mark.parametrize(
    ("design", "complaint"),
    [
        (Seq2seq(), "model.name is 'seq2seq', but CTranslate2 runs the model 'transformer' alone"),
        (Transformer(score="additive"), "model.score is Additive, but CTranslate2 computes with scaled_dot or dot"),
        (Transformer(normalizer="sparsemax"), "model.normalizer is Sparsemax, but"),
        (Transformer(positions="rotary"), "model.positions is Rotary, but"),
        (
            Transformer(mixer="recurrent", positions=None),
            "model.mixer is Recurrent, but CTranslate2 computes with",
        ),
        (Transformer(mask="window(9)"), r"model.mask is Window, but CTranslate2 computes with none \(causal in the"),
        (
            Transformer(memory="compressed(4)"),
            r"model.memory is compressed\(4\), but CTranslate2 computes with",
        ),
        (Transformer(feed="gated"), "model.feed is Gated, but CTranslate2 computes with plain alone"),
        (Transformer(activation="sigmoid"), "model.activation is sigmoid, but CTranslate2 computes with relu, gelu,"),
        (Transformer(feed="plain(activation='identity')"), "model.activation is identity, but"),
        (Transformer(norm="rms"), "model.norm is rms, but CTranslate2 computes with layer alone"),
        (Transformer(copy=Copying()), "model.copy is Copying, but CTranslate2 computes with none alone"),
        (Transformer(residual_scale=2.0), "model.residual_scale is 2.0, but CTranslate2 computes with 1.0 alone"),
        (Transformer(positions="sinusoidal(layers='every')"), "has join='add', layers='every', but"),
    ],
)
def test_what_cannot_be_said_is_refused(design: object, complaint: str) -> None:
    with pytest.raises(UsageError, match=f"^file: .*{complaint}"):
        check_expressible(design, "file")


def other_norm(model: Any) -> None:
    model.decoder.layers[1].norms["cross"] = nn.RMSNorm(16).eval()


def other_epsilon(model: Any) -> None:
    model.encoder.layers[0].norms["feedforward"].eps = 1e-3


def other_activation(model: Any) -> None:
    model.encoder.layers[0].feedforward.activation = "tanh"


def other_scale(model: Any) -> None:
    model.target.scale = 2.0


def without_bias(model: Any) -> None:
    model.decoder.norm.bias = None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (other_norm, "decoder.layers.1.norms.cross is of the type RMSNorm, which CTranslate2 does not compute"),
        (other_epsilon, "the epsilon of the normalization differs from layer to layer, which"),
        (other_activation, "the activation differs from layer to layer, which"),
        (other_scale, "embeddings are scaled by another number than √width, which"),
        (without_bias, "a layer normalization is without bias, which"),
    ],
)
def test_a_part_that_cannot_be_said_is_refused(change: Callable[[Any], None], complaint: str) -> None:
    model = Transformer(**SMALL).build({"source": 20, "target": 20}).eval()
    assert check_model(model) is model
    change(model)
    with pytest.raises(UsageError, match=f"^ctranslate2: {complaint}"):
        check_model(model)


def test_another_kind_of_model_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^ctranslate2: the model must be a Transformer, but is a GptModel$"):
        check_model(Gpt(layers=1).build({"text": 20}))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(RegardError, match=r"pip install 'regard\[ctranslate2\]'"):
        library()
