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


@pytest.mark.parametrize("key_heads", [None, 1])
def test_effects_are_those_on_the_likeliest_next_token(key_heads: int | None) -> None:
    """The output projection of each head in turn is zeroed by hand, and the text is read again."""
    model = generator(Gpt(width=8, heads=2, key_heads=key_heads, layers=2, feedforward=8))
    [own] = model.models
    for weight in own.parameters():
        torch.nn.init.normal_(weight, std=0.4)
    rows = torch.tensor([[own.first, *model.subwords.encode(TEXT)]])

    def chances() -> torch.Tensor:
        return own(None, None, rows)[0, -1].double().log_softmax(-1)

    told = explain_continuation(model, TEXT, effects=True)
    with torch.no_grad():
        best, whole = int(chances().argmax()), float(chances().max())
        for layer in told.part.decoder:
            output = own.get_submodule(layer.name).output
            kept = output.weight.clone()
            for head in range(2):
                output.weight[:, 4 * head : 4 * (head + 1)] = 0
                assert layer.effects[head] == pytest.approx(whole - float(chances()[best]), abs=1e-4)
                output.weight.copy_(kept)
    assert not any(layer.effects for layer in explain_continuation(model, TEXT, effects=False).part.decoder)
    plain = told.to_dict()["parts"][0]["decoder"][0]["heads"][0]
    assert plain["effect"] == pytest.approx(told.part.decoder[0].effects[0], abs=1e-5)
    np.testing.assert_allclose(np.sum(plain["moved"], axis=1), 1, atol=5e-3)


def test_the_layers_of_several_models_have_their_own_names() -> None:
    one = generator()
    both = Generator([*one.models, *generator().models], one.subwords)
    names = [layer.name for layer in explain_continuation(both, TEXT).part.decoder]
    assert len(names) == len(set(names)) == 4 and names[2].startswith("2:")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_its_page_shows_what_is_moved_and_what_heads_do(width: int, scheme: str, tmp_path: Path, visit: Open) -> None:
    told = explain_continuation(generator(), TEXT, effects=True)
    file = tmp_path / "page.html"
    file.write_text(told.to_html("A page"), encoding="utf-8")
    page = visit(file.as_uri(), viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.locator(".head .effect").count() == 4
    assert "the likeliest next token loses" in page.get_by_label("Heads").locator("header p").text_content()
    assert "the log-probability of the answer is" in page.locator(".head").first.get_attribute("aria-label")
    weights = page.locator(".head canvas").all()
    before = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in weights]
    page.get_by_label("What is shown").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("document.querySelector('canvas.cells').ariaLabel.includes('what is moved')")
    after = [canvas.evaluate("canvas => canvas.toDataURL()") for canvas in page.locator(".head canvas").all()]
    assert before != after
    page.get_by_label("Layer", exact=True).select_option("0")
    page.get_by_label("Head", exact=True).select_option("1")
    page.locator("canvas.cells").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    moved = float(told.part.decoder[0].moved[1, 1, 1])
    page.get_by_text(f"{moved:.3f}").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_of_512_tokens_and_144_heads_can_be_used(width: int, tmp_path: Path, visit: Open) -> None:
    design = Gpt(width=24, heads=12, layers=12, feedforward=8)
    told = explain_continuation(generator(design), " ".join(["the dog sees"] * 171)[:-4].strip(), effects=False)
    [count] = {layer.weights.shape[-1] for layer in told.part.decoder}
    assert count >= 512
    file = tmp_path / "page.html"
    file.write_text(told.to_html("A page"), encoding="utf-8")
    assert file.stat().st_size < 9_000_000
    page = visit(file.as_uri(), viewport={"width": width, "height": 800}, device_scale_factor=2)
    assert page.locator(".head").count() == 144
    seconds = page.evaluate(
        """async () => {
            const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            const start = performance.now();
            const choice = document.querySelector('[aria-label="What is shown"]');
            choice.value = "moved";
            choice.dispatchEvent(new Event("change"));
            await drawn();
            return (performance.now() - start) / 1000;
        }"""
    )
    assert seconds < 20  # about one on an idle machine
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    size = page.locator("canvas.cells").evaluate("canvas => canvas.width * canvas.height")
    assert size < 16_000_000  # more than this, some browsers do not draw


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
