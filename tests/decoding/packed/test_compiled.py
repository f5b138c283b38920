"""The compiled steps have the numbers of the packed ones by torch, under every instruction set of this machine."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from regard.attention.positions.buckets import BucketTable
from regard.base.errors import UsageError
from regard.decoding.packed import compiled
from regard.decoding.packed import recognized as recognizing
from regard.decoding.packed.by_torch import Packed, PackedState
from regard.decoding.packed.compiled import Compiled, CompiledState
from regard.decoding.packed.decoder import packed
from regard.decoding.workers import one_core
from regard.models.gpt import Gpt
from regard.models.t5 import T5
from regard.models.transformer import Transformer
from regard.native.kernels import Kernels
from tests.native.here import HERE

VOCABULARY = 71
LENGTHS = torch.tensor([5, 2, 7, 1])
SIZES: dict[str, Any] = {"width": 32, "heads": 2, "feedforward": 27}

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


@pytest.fixture(autouse=True, params=HERE)
def one_thread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    made = Kernels(request.param)
    monkeypatch.setattr(recognizing, "kernels", lambda: made)
    with torch.inference_mode(), one_core():
        yield


def transformer(**changes: Any) -> Any:
    torch.manual_seed(1)
    made = Transformer(encoder_layers=2, decoder_layers=2, **SIZES | changes)
    model = made.build({"source": VOCABULARY, "target": VOCABULARY}).eval()
    for norm in (part for part in model.modules() if isinstance(part, nn.LayerNorm)):
        norm.weight.normal_(1, 0.3)
        norm.bias.normal_(0, 0.3)
    return model


LLAMA = {"positions": "rotary", "norm": "rms", "feed": "gated", "key_heads": 1, "activation": "silu"}


def language_model(**changes: Any) -> Any:
    torch.manual_seed(1)
    model = Gpt(layers=2, **SIZES | changes).build({"text": VOCABULARY}).eval()
    for norm in (part for part in model.modules() if isinstance(part, nn.LayerNorm | nn.RMSNorm)):
        norm.weight.normal_(1, 0.3)
    return model


def t5(**changes: Any) -> Any:
    torch.manual_seed(1)
    positions = {"name": "buckets", "buckets": 8, "farthest": 9}
    made = T5(encoder_layers=2, decoder_layers=2, positions=positions, **SIZES | changes)
    model = made.build({"source": VOCABULARY, "target": VOCABULARY}).eval()
    for part in model.modules():
        if isinstance(part, nn.RMSNorm):
            part.weight.normal_(1, 0.3)
        if isinstance(part, BucketTable):
            part.weight.normal_()
    return model


V1_1 = {"feed": {"name": "gated", "activation": "gelu_tanh"}, "tie": "embeddings", "output_scale": "none"}
MODELS: dict[str, Any] = {
    "norms before": transformer,
    "norms after": lambda: transformer(norm_place="after", output_bias="learned"),
    "gelu, learned positions": lambda: transformer(activation="gelu", positions="learned(40)", linear_bias="none"),
    "t5": lambda: t5(),
    "t5, version 1.1": lambda: t5(**V1_1),
    "t5, norms after": lambda: t5(norm_place="after"),
    "language model": lambda: language_model(),
    "language model, gelu by tanh": lambda: language_model(activation="gelu_tanh"),
    "language model, silu": lambda: language_model(activation="silu", norm="rms", norm_place="after"),
    "language model like LLaMA": lambda: language_model(**LLAMA),
    "language model, half of it turned": lambda: language_model(**LLAMA | {"positions": "rotary(share=0.5)"}),
    "language model, gates of gelu": lambda: language_model(**LLAMA | {"key_heads": 2, "activation": "gelu"}),
}


@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_torch_whatever_a_search_does_with_the_states(name: str) -> None:
    model = MODELS[name]()
    fast, plain = packed(model), Packed(model)
    assert isinstance(fast, Compiled)
    source = torch.randint(4, VOCABULARY, (4, 7))
    given = (None, None, 4) if name.startswith("language model") else (source, LENGTHS, 1)
    quick, slow = fast.start(*given), plain.start(*given)
    assert isinstance(quick, CompiledState)
    sentences, beams = 4, 1
    for step in range(12):
        token = torch.randint(4, VOCABULARY, (sentences * beams,))
        found, quick = fast.step(token, quick)
        wanted, slow = plain.step(token, slow)
        rounding = 1e-6 * max(10.0, wanted.abs().max().item())  # some of the last bits of the largest logit
        torch.testing.assert_close(found, wanted, atol=rounding, rtol=1e-5)
        if step == 1:
            beams, quick, slow = 3, quick.spread(3), slow.spread(3)
        if step > 2:
            rows = (torch.arange(sentences)[:, None] * beams + torch.randint(beams, (sentences, beams))).flatten()
            quick, slow = quick.reorder(rows), slow.reorder(rows)
        if step in (5, 8):
            stay = torch.arange(sentences)[1:]
            sentences, quick, slow = sentences - 1, quick.keep(stay), slow.keep(stay)


def test_a_state_can_go_on_in_two_ways() -> None:
    stepper: Any = packed(language_model())
    _, begun = stepper.step(torch.tensor([4, 5]), stepper.start(None, None, 2))
    once, further = stepper.step(torch.tensor([6, 7]), begun)
    stepper.step(torch.tensor([8, 9]), begun)
    again, other = stepper.step(torch.tensor([6, 7]), begun)
    assert isinstance(begun, CompiledState) and begun.ancestry.shape == (2, 1)
    assert torch.equal(once, again)
    tokens = torch.tensor([10, 11])
    assert torch.equal(stepper.step(tokens, further)[0], stepper.step(tokens, other)[0])


def test_a_row_does_not_depend_on_its_company() -> None:
    fast: Any = packed(transformer())
    source, token = torch.randint(4, VOCABULARY, (4, 7)), torch.randint(4, VOCABULARY, (4,))
    together, _ = fast.advance(token, fast.start(source, LENGTHS))
    for at in range(4):
        one = slice(at, at + 1)
        alone, _ = fast.advance(token[one], fast.start(source[one, : LENGTHS[at]], LENGTHS[one]))
        assert torch.equal(alone, together[one])


@pytest.mark.parametrize("name", MODELS)
def test_a_prompt_is_read_at_once_and_goes_on_as_by_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.decoding.packed.compiled._ROWS", 17)  # four tokens of each sentence at a time
    model = MODELS[name]()
    fast, plain = packed(model), Packed(model)
    source = torch.randint(4, VOCABULARY, (4, 7))
    given = (None, None, 4) if name.startswith("language model") else (source, LENGTHS, 1)
    quick, slow = fast.start(*given), plain.start(*given)
    for length in (9, 1, 6):
        tokens = torch.randint(4, VOCABULARY, (4, length))
        (found, quick), (wanted, slow) = fast.read(tokens, quick), plain.read(tokens, slow)
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
        token = torch.randint(4, VOCABULARY, (4,))
        (found, quick), (wanted, slow) = fast.step(token, quick), plain.step(token, slow)
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
    quick, slow = quick.spread(2), slow.spread(2)
    rows = torch.tensor([1, 0, 2, 2, 5, 4, 7, 7])
    token = torch.randint(4, VOCABULARY, (8,))
    found, wanted = fast.step(token, quick.reorder(rows))[0], plain.step(token, slow.reorder(rows))[0]
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("make", [transformer, lambda: transformer(positions="learned(80)"), t5])
def test_tables_of_positions_are_made_once(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, made = make(), []
    for name in ("position_vectors", "biases"):
        real = getattr(compiled, name)
        monkeypatch.setattr(compiled, name, lambda *args, real=real: made.append(args) or real(*args))
    for length in (9, 3, 70, 64, 9):
        source = torch.full((1, length), 5)
        decoder = packed(model)
        state = decoder.start(source, torch.tensor([length]))
        logits, _ = decoder.step(torch.tensor([4]), state)
        alone = Packed(model)
        expected, _ = alone.step(torch.tensor([4]), alone.start(source, torch.tensor([length])))
        assert isinstance(state, CompiledState)
        assert torch.allclose(logits, expected[:, : logits.shape[1]], atol=1e-4)
    assert len(made) == 3  # for both sides, and for a longer source


def test_with_gradients_or_several_threads_torch_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    fast: Any = packed(transformer())
    source, token = torch.randint(4, VOCABULARY, (4, 7)), torch.randint(4, VOCABULARY, (4,))
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    state = fast.start(source, LENGTHS)
    assert isinstance(state, PackedState)
    assert fast.step(token, state)[0].shape == (4, VOCABULARY)


def test_a_source_that_is_not_in_the_vocabulary_is_told() -> None:
    fast: Any = packed(transformer())
    with pytest.raises(UsageError, match="a token that is not among the 71"):
        fast.start(torch.full((1, 3), VOCABULARY), torch.tensor([3]))
    with pytest.raises(UsageError, match="must be from 1 to 3, but are"):
        fast.start(torch.full((1, 3), 5), torch.tensor([4]))
