from functools import cache
from itertools import islice
from math import log

import numpy as np
import pytest
import torch

from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import EOS, PAD
from regard.data.windows import Streams, StreamSettings
from regard.decoding.generator import Generator
from regard.decoding.scoring import score_tokens
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy
from regard.models.gpt import Gpt
from regard.models.rnn_lm import RnnLm
from regard.models.transformer_xl import TransformerXL
from tests.data.examples import subwords
from tests.decoding.fakes import Fake, FakeLanguage


def generator() -> Generator:
    return Generator(FakeLanguage(len(subwords()), end=2.0), subwords(), batch_tokens=20)


def test_a_prompt_is_continued_whatever_stands_beside_it() -> None:
    prompts = ["Two young men", "", "A dog runs over the green grass", "Ein Hund"]
    together = generator().generate(prompts, Greedy(max_length=6))
    for prompt, (one,) in zip(prompts, together, strict=True):
        assert one.text.startswith(prompt)
        assert len(one.tokens) <= 6
        ((alone,),) = generator().generate([prompt], Greedy(max_length=6))
        assert alone.tokens == one.tokens
        assert alone.score == pytest.approx(one.score, abs=1e-4)


def test_the_score_is_of_what_was_added() -> None:
    model, prompt = generator(), subwords().encode("Ein Hund")
    ((one,),) = model.generate(["Ein Hund"], Greedy(max_length=6))
    target = torch.tensor([[*prompt, *one.tokens, EOS]])
    scores = score_tokens(model.models, None, None, target, torch.tensor([target.shape[1]]))[0]
    assert one.score == pytest.approx(float(scores[len(prompt) :].sum()), abs=1e-4)


def test_samples_are_several_and_repeat() -> None:
    (found,) = generator().generate(["Ein Hund"], Sample(n_best=3, max_length=8))
    assert len({one.tokens for one in found}) == 3
    assert generator().generate(["Ein Hund"], Sample(n_best=3, max_length=8)) == [found]
    assert len(generator().generate(["Ein Hund"])[0]) == 1


def test_wrong_use_is_refused() -> None:
    with pytest.raises(UsageError, match="use Translator"):
        Generator(Fake(len(subwords())), subwords())
    with pytest.raises(UsageError, match="a list of prompts"):
        generator().generate("Ein Hund")


GO = ("go home now", "go to the park", "go home", "go now", "go to the house by the park") * 4


@cache
def learned(name: str) -> Generator:
    """A tiny language model of lines that all begin with "go"."""
    known = learn_subwords(GO, SubwordSettings(kind="word"))
    text = np.array([token for row in known.encode_batch(GO) for token in (*row, EOS)])
    torch.manual_seed(0)
    model = MODELS[name].build({"text": len(known)})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _, window in islice(Streams(text, StreamSettings(rows=2, length=16)).walk(), 60):
        optimizer.zero_grad()
        logits = model(None, None, window.input).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, window.target.flatten(), ignore_index=PAD).backward()
        optimizer.step()
    return Generator(model.eval(), known)


MODELS = {
    "rnn_lm": RnnLm(cell="gru", width=16),
    "gpt": Gpt(layers=1, width=16, heads=2, positions="learned(16)"),
}
STRATEGIES = (Greedy(max_length=12), Sample(max_length=12, n_best=3), Beam(size=3, n_best=2, max_length=12))


@pytest.mark.parametrize("name", MODELS)
def test_a_text_starts_after_the_token_that_training_started_it_after(name: str) -> None:
    model = learned(name)
    assert model.score(["go home"])[0] > log(0.8)
    ((one,),) = model.generate([""], Greedy(max_length=12))
    assert one.text.startswith("go ")


@pytest.mark.parametrize("prompt", ["", "go to"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
@pytest.mark.parametrize("name", MODELS)
def test_a_continuation_has_the_score_of_its_text(name: str, strategy: Strategy, prompt: str) -> None:
    model = learned(name)
    given = len(model.subwords.encode(prompt))
    for one in model.generate([prompt], strategy)[0]:
        assert one.score == pytest.approx(sum(model.score([one.text])[given:]), abs=1e-4)


def test_learned_positions_bound_what_is_generated_and_scored_at_once() -> None:
    model = learned("gpt")
    assert len(model.score(GO)) == sum(len(model.subwords.encode(line)) + 1 for line in GO) > 64
    ((one,),) = model.generate(["go to"], Greedy(min_length=20, max_length=100))
    assert len(one.tokens) == 15 - 2
    with pytest.raises(UsageError, match="a prefix has 16 tokens, but the model has learned 16 positions"):
        model.generate(["go " * 16], Greedy(max_length=2))


def test_segments_that_recall_score_a_text_as_one_long_pass() -> None:
    """A memory of 6 positions, each of two layers: however long the segments, no token loses what it could see."""
    torch.manual_seed(1)
    model = TransformerXL(layers=2, width=16, heads=2, memory="rolling(6)", dropout=0.0).build(
        {"text": len(subwords())}
    )
    lines = ["Two young men", "A dog runs over the green grass", "", "Ein Hund"]
    stream = [EOS, *(token for ids in subwords().encode_batch(lines) for token in (*ids, EOS))]
    with torch.no_grad():
        logits = model.double().eval()(None, None, torch.tensor([stream[:-1]]))
    whole = logits.log_softmax(-1)[0].gather(-1, torch.tensor(stream[1:])[:, None])[:, 0]
    for window in (1, 7, 512):
        found = Generator(model, subwords()).score(lines, window)
        torch.testing.assert_close(torch.tensor(found, dtype=torch.float64), whole, rtol=0, atol=1e-6)
