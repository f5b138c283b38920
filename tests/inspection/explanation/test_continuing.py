"""What is told of a text that a language model reads."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.attention.record import record
from regard.base.errors import UsageError
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import EOS
from regard.decoding.generator import Generator
from regard.decoding.next_words import next_words
from regard.inspection.explanation.continuing import explain_continuation
from regard.models.gpt import Gpt
from regard.models.rnn_lm import RnnLm
from tests.browser import Open, browser, visit

__all__ = ["browser", "visit"]

TEXT = "the dog sees the"
GPT = Gpt(width=8, heads=2, layers=2, feedforward=8)


def generator(design: Gpt | RnnLm = GPT) -> Generator:
    torch.manual_seed(5)
    subwords = learn_subwords(["the dog sees the cat and the house"], SubwordSettings(kind="word", min_count=1))
    return Generator(design.build({"text": len(subwords)}).eval(), subwords)


def test_tokens_have_the_models_scores_and_the_weights_of_a_recording() -> None:
    model = generator()
    told = explain_continuation(model, TEXT)
    scores = model.score([TEXT])
    np.testing.assert_allclose([one.log_probability for one in told.part.target], scores, atol=1e-4)
    rows = torch.tensor([[EOS, *model.subwords.encode(TEXT)]])
    with record(model.models[0]) as seen, torch.no_grad():
        model.models[0](None, None, rows)
    for layer in told.part.decoder:
        torch.testing.assert_close(layer.weights, seen[layer.name][0][0], atol=1e-5, rtol=0)
    assert list(told.next_words) == next_words(model, TEXT)
    looked = told.looked_at()
    assert [word for word, _ in looked] == TEXT.split()
    beginning = float(told.part.decoder[-1].weights.mean(0)[-1, 0])
    assert sum(weight for _, weight in looked) == pytest.approx(1 - beginning, abs=1e-4)


def test_it_is_plain_json_and_a_model_without_attention_looks_at_nothing() -> None:
    plain = explain_continuation(generator(), TEXT, count=3).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert len(plain["next"]) == 3
    blind = explain_continuation(generator(RnnLm(width=8, attention=None)), TEXT)
    assert (blind.looked_at(), blind.to_dict()["attention"]) == ([], [])
    assert blind.next_words


def test_a_text_beyond_the_learned_positions_is_refused() -> None:
    model = generator(Gpt(width=8, heads=2, layers=1, feedforward=8, positions="learned(4)"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has 4 tokens, but the model reads 3"):
        explain_continuation(model, TEXT)


@pytest.mark.parametrize("width", [390, 1280])
def test_its_page_shows_what_comes_next_and_what_was_looked_at(width: int, tmp_path: Path, visit: Open) -> None:
    told = explain_continuation(generator(), TEXT)
    file = tmp_path / "page.html"
    file.write_text(told.to_html("A page"), encoding="utf-8")
    page = visit(file.as_uri(), viewport={"width": width, "height": 800})
    assert page.locator("#source").is_hidden()
    assert page.locator("#target").text_content() == TEXT
    assert page.locator(".nexts .token").all_text_contents() == [word.text for word in told.next_words]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".head").count() == 4
    assert page.locator("canvas.cells").get_attribute("aria-label").startswith("Heat map, Decoder self-attention")
    page.locator("#target .word").nth(1).click()
    assert page.get_by_role("dialog").is_visible()


def test_a_page_without_attention_still_shows_what_comes_next(tmp_path: Path, visit: Open) -> None:
    file = tmp_path / "page.html"
    file.write_text(explain_continuation(generator(RnnLm(width=8, attention=None)), TEXT).to_html(), encoding="utf-8")
    page = visit(file.as_uri())
    assert page.locator(".nexts").is_visible()
    assert page.get_by_text("no attention over what it reads").is_visible()
