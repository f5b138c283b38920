import pytest
import torch

from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.generator import Generator
from regard.decoding.scoring import score_tokens
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
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
