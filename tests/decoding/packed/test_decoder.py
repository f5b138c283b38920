"""The packed steps give the numbers of the plain ones, whatever a search does with the states."""

from typing import Any

import pytest
import torch

from regard.attention.positions.buckets import BucketTable
from regard.attention.record import watch
from regard.decoding.packed import decoder as packing
from regard.decoding.packed.decoder import Packed, packed
from regard.decoding.search import search
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy
from regard.decoding.words import Words
from regard.layers.inference.prepacked import Prepacked
from regard.models.gpt import Gpt
from regard.models.rnn_lm import RnnLm
from regard.models.t5 import T5
from regard.models.transformer import Transformer
from regard.models.writer import Transducer, Writer

VOCABULARY = 70
SMALL = {"width": 16, "heads": 2, "feedforward": 24}
LENGTHS = torch.tensor([5, 2, 7, 1])


def transformer(**changes: Any) -> Writer:
    return (
        Transformer(encoder_layers=2, decoder_layers=3, **SMALL, **changes)
        .build(dict.fromkeys(("source", "target"), VOCABULARY))
        .eval()
    )


def gpt(**changes: Any) -> Writer:
    return Gpt(layers=2, **SMALL, **changes).build({"text": VOCABULARY}).eval()


def t5(**changes: Any) -> Writer:
    positions = {"name": "buckets", "buckets": 8, "farthest": 20}
    made = T5(encoder_layers=2, decoder_layers=2, positions=positions, **SMALL, **changes)
    model = made.build(dict.fromkeys(("source", "target"), VOCABULARY)).eval()
    with torch.no_grad():
        for table in (part for part in model.modules() if isinstance(part, BucketTable)):
            table.weight.normal_()
    return model


LLAMA: dict[str, Any] = {
    "positions": "rotary", "norm": "rms", "feed": {"name": "gated", "activation": "silu"}, "linear_bias": "none",
}  # fmt: skip


def start(model: Any, source: torch.Tensor) -> Any:
    return model.start(source, LENGTHS, len(LENGTHS))


PACKABLE = {
    "as it comes": transformer,
    "norm after": lambda: transformer(norm_place="after", activation="gelu", tie="none"),
    "learned positions": lambda: transformer(positions="learned(40)"),
    "no positions, plain dot": lambda: transformer(positions=None, score="dot"),
    "scaled": lambda: transformer(score="scaled_dot(0.2)"),
    "language model": gpt,
    "llama": lambda: gpt(**LLAMA),
    "llama, shared keys": lambda: gpt(**LLAMA, key_heads=1),
    "shared keys, learned positions": lambda: gpt(key_heads=1),
    "t5": lambda: t5(),
    "t5, gated, wider heads": lambda: t5(
        feed={"name": "gated", "activation": "gelu_tanh"}, tie="embeddings", output_scale="none", head_width=16
    ),
}


@torch.inference_mode()
@pytest.mark.parametrize("name", PACKABLE)
def test_the_logits_are_those_of_the_model_through_a_whole_search(name: str) -> None:
    model = PACKABLE[name]()
    fast = packed(model)
    assert isinstance(fast, Packed)
    source = torch.randint(4, VOCABULARY, (4, 7)) if isinstance(model, Transducer) else None
    plain, quick = start(model, source), start(fast, source)
    sentences, beams = 4, 1
    for step in range(40):  # the shelf grows and is cleared several times
        token = torch.randint(4, VOCABULARY, (sentences * beams,))
        expected, plain = model.step(token, plain)
        logits, quick = fast.step(token, quick)
        torch.testing.assert_close(logits, expected, atol=2e-5, rtol=1e-4)
        if step == 1:
            beams = 3
            plain, quick = plain.spread(3), quick.spread(3)
        if step > 2:
            first = torch.arange(sentences)[:, None] * beams
            rows = (first + torch.randint(beams, (sentences, beams))).flatten()
            plain, quick = plain.reorder(rows), quick.reorder(rows)
        if step in (9, 21):
            stay = torch.arange(sentences)[1:]
            sentences -= 1
            plain, quick = plain.keep(stay), quick.keep(stay)


@torch.inference_mode()
@pytest.mark.parametrize("name", PACKABLE)
def test_tokens_that_are_read_at_once_are_those_read_one_by_one(name: str) -> None:
    fast = packed(PACKABLE[name]())
    assert isinstance(fast, Packed)
    source = torch.randint(4, VOCABULARY, (4, 7)) if isinstance(fast.model, Transducer) else None
    tokens = torch.randint(4, VOCABULARY, (4, 25))
    slow, quick = start(fast, source), start(fast, source)
    found = []
    for token in tokens.unbind(1):
        logits, slow = fast.step(token, slow)
        found.append(logits)
    first, quick = fast.read(tokens[:, :20], quick)  # more than the kernels take at once
    second, quick = fast.read(tokens[:, 20:], quick)
    read = torch.cat([fast.logits(part).view(4, -1, VOCABULARY) for part in (first, second)], 1)
    torch.testing.assert_close(read, torch.stack(found, 1), atol=2e-5, rtol=1e-4)
    slow, quick, token = slow.spread(2), quick.spread(2), torch.randint(4, VOCABULARY, (8,))
    torch.testing.assert_close(fast.step(token, quick)[0], fast.step(token, slow)[0], atol=2e-5, rtol=1e-4)


@torch.inference_mode()
def test_a_state_is_a_value() -> None:
    model = transformer()
    fast = packed(model)
    source = torch.randint(4, VOCABULARY, (4, 7))
    first, second = torch.randint(4, VOCABULARY, (2, 4))
    _, after = fast.step(first, start(fast, source))
    once, _ = fast.step(second, after)
    other, further = fast.step(first, after)  # goes on from the same place another way
    fast.step(second, further)
    again, _ = fast.step(second, after)
    torch.testing.assert_close(again, once)
    assert not torch.allclose(other, once)


@torch.inference_mode()
def test_logits_of_some_words_alone() -> None:
    model = transformer()
    words = Words.of([0, 1, 2, 3, 9], [[33, 60], [], [7], [61, 62]], torch.device("cpu"))
    source, token = torch.randint(4, VOCABULARY, (4, 7)), torch.randint(4, VOCABULARY, (4,))
    few, whole = packed(model).listing(words), packed(model)
    listed, state = few.step(token, start(few, source))
    logits, plain = whole.step(token, start(whole, source))
    torch.testing.assert_close(listed, words.select(logits))
    stay = torch.tensor([3, 0])
    listed, _ = few.step(token[stay], state.keep(stay))
    logits, _ = whole.step(token[stay], plain.keep(stay))
    torch.testing.assert_close(listed, words.pick(stay).select(logits))


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "rotary"},
        {"positions": {"name": "sinusoidal", "join": "concatenate", "width": 4}, "tie": "none"},
        {"normalizer": "sparsemax"},
        {"score": "cosine"},
        {"key_heads": 1},
    ],
    ids=str,
)
def test_a_model_of_other_parts_steps_by_itself(changes: dict[str, Any]) -> None:
    model = transformer(**changes)
    assert packed(model) is model


def test_so_does_another_kind_of_model_and_every_model_when_packing_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    other = RnnLm().build({"text": VOCABULARY})
    assert packed(other) is other
    model = transformer()
    monkeypatch.setattr(packing, "PACK", False)
    assert packed(model) is model


def test_a_model_that_is_watched_steps_by_itself() -> None:
    model = transformer()
    source = torch.randint(4, VOCABULARY, (4, 7))
    with watch(model, {"decoder.layers.1.cross": None}) as seen:
        search(model, source, LENGTHS, Beam(size=2, max_length=3))
    assert len(seen["decoder.layers.1.cross"]) > 1


def test_searches_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = transformer(tie="none")
    source = torch.randint(4, VOCABULARY, (4, 7))
    fast = search(model, source, LENGTHS, Beam(size=4, n_best=3, max_length=12))
    monkeypatch.setattr(packing, "PACK", False)
    plain = search(model, source, LENGTHS, Beam(size=4, n_best=3, max_length=12))
    assert [[one.tokens for one in own] for own in fast] == [[one.tokens for one in own] for own in plain]
    assert fast[0][0].score == pytest.approx(plain[0][0].score, abs=1e-4)


@pytest.mark.parametrize("strategy", [Beam(size=4, n_best=3, max_ratio=1.0, max_extra=2), Greedy(), Sample(seed=3)])
def test_filled_up_outputs_change_nothing(strategy: Strategy) -> None:
    """Sentences end at different steps, so that some hypotheses are given up before others end."""
    model, source, lengths = transformer(tie="none"), torch.randint(4, VOCABULARY, (30, 9)), torch.arange(30) % 9 + 1
    output = model.output
    for models in (model, [model, model]):
        model.output = output
        plain = search(models, source, lengths, strategy)
        model.output = Prepacked(output)
        filled = search(models, source, lengths, strategy)
        assert [[one.tokens for one in own] for own in filled] == [[one.tokens for one in own] for own in plain]
        assert [own[0].score for own in filled] == pytest.approx([own[0].score for own in plain], abs=1e-4)


@torch.inference_mode()
def test_a_token_of_a_row_that_was_given_up_may_be_none() -> None:
    model = transformer()
    fast = packed(model)
    state = start(fast, torch.randint(4, VOCABULARY, (4, 7)))
    logits, _ = fast.step(torch.tensor([5, VOCABULARY, 5, VOCABULARY + 57]), state)
    assert logits.isfinite().all()
