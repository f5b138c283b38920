from typing import Any

import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.translator import Translator
from regard.decoding.vectors import Embeds
from regard.models.seq2seq import Seq2seq
from regard.models.t5 import T5
from regard.models.transformer import Transformer
from tests.data.examples import LINES, subwords

TEXTS = list(dict.fromkeys(LINES))[:5]
SMALL = {"encoder_layers": 2, "decoder_layers": 1, "width": 16, "heads": 2, "feedforward": 24}
DESIGNS = {"transformer": Transformer(**SMALL), "t5": T5(**SMALL), "seq2seq": Seq2seq(width=16)}  # type: ignore[arg-type]


def translator(design: Any, **changes: Any) -> Translator:
    known = subwords()
    torch.manual_seed(1)
    model = design.build({"source": len(known), "target": len(known)}).eval()
    return Translator(model, known, known, **changes)


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("tokens", [1, 1000])
def test_the_mean_of_the_encoders_features_whatever_else_is_in_the_batch(name: str, tokens: int) -> None:
    opened = translator(DESIGNS[name], batch_tokens=tokens)
    assert isinstance(opened, Embeds)
    found = opened.embed([f" {TEXTS[0]} ", [TEXTS[1]], *TEXTS[2:]])
    for text, vector in zip(TEXTS, found, strict=True):
        ids = torch.tensor([[*subwords().encode(text), EOS]])
        with torch.no_grad():
            features, _ = opened.encoder.encode(ids, torch.tensor([ids.shape[1]]))
        np.testing.assert_allclose(vector, features[0].mean(0).numpy(), atol=1e-5)


def test_layers_are_those_of_the_encoder() -> None:
    opened = translator(DESIGNS["t5"])
    layers = opened.embed_layers(TEXTS)
    assert len(layers) == 2
    assert not np.allclose(layers[0], layers[1])


def test_of_a_text_that_is_too_long_the_beginning_is_read() -> None:
    opened = translator(DESIGNS["transformer"], max_source=4)
    ids = [*subwords().encode(TEXTS[0])[:3], EOS]
    with torch.no_grad():
        features, _ = opened.encoder.encode(torch.tensor([ids]), torch.tensor([4]))
    np.testing.assert_allclose(opened.embed(TEXTS[:1])[0], features[0].mean(0).numpy(), atol=1e-5)


def test_what_has_no_vector_is_said() -> None:
    with pytest.raises(UsageError, match="input 2 must be a text, but is 3"):
        translator(DESIGNS["t5"]).embed(["a", 3])
