"""OpenAI's own client talks to the server; where it is not installed, plain requests still do."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from regard.decoding.strategies.greedy import Greedy
from tests.apps.server.conftest import Call
from tests.apps.server.serving import called, live, make_service
from tests.apps.server.small_models import small_models


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    openai = pytest.importorskip("openai", reason="needs openai: pip install 'regard[dev]'")
    with live(make_service(models=small_models(), keys=("secret",))) as port:
        yield openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="secret", max_retries=0)


@pytest.fixture(scope="module")
def ask() -> Iterator[Call]:
    with called(make_service(models=small_models(), written=64)) as call:
        yield call


def test_the_client_lists_models(client: Any) -> None:
    assert "novels" in [model.id for model in client.models.list()]
    assert client.models.retrieve("novels").id == "novels"


def test_the_client_gets_vectors(client: Any) -> None:
    """It asks for base64 unless told otherwise, and decodes it."""
    texts = ["the cat", "a dog ran"]
    own = small_models().named("vectors").vectors(texts)
    for form in ({}, {"encoding_format": "float"}):
        found = client.embeddings.create(model="vectors", input=texts, **form)
        np.testing.assert_allclose([row.embedding for row in found.data], own, atol=1e-6)
    assert found.usage.prompt_tokens == 2 + 2 + 3 + 2
    assert len(client.embeddings.create(model="moods", input="the cat").data[0].embedding) == 16


def test_the_client_goes_on_with_a_text(client: Any) -> None:
    found = client.completions.create(model="novels", prompt="the cat", max_tokens=6, temperature=0)
    ((own,),) = small_models().named("novels").opened.generate(["the cat"], Greedy(max_length=6))
    assert found.choices[0].text == own.written
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (2, len(own.tokens))
    assert found.choices[0].finish_reason == ("length" if len(own.tokens) == 6 else "stop")
    whole = client.completions.create(model="novels", prompt="the cat", max_tokens=6, temperature=0, echo=True)
    assert whole.choices[0].text == own.text


def test_the_client_is_told_piece_by_piece(client: Any) -> None:
    asked = {"model": "novels", "prompt": ["the cat", "a dog"], "max_tokens": 8, "seed": 3}
    whole = client.completions.create(**asked)
    pieces = list(client.completions.create(**asked, stream=True, stream_options={"include_usage": True}))
    for number, choice in enumerate(whole.choices):
        own = [one.choices[0] for one in pieces if one.choices and one.choices[0].index == number]
        assert "".join(one.text for one in own) == choice.text
        assert own[-1].finish_reason == choice.finish_reason
    assert len(pieces) > 4
    assert pieces[-1].usage.completion_tokens == whole.usage.completion_tokens


def test_the_client_reads_refusals(client: Any) -> None:
    import openai

    with pytest.raises(openai.NotFoundError, match="did you mean 'novels'"):
        client.completions.create(model="novel", prompt="x")
    with pytest.raises(openai.BadRequestError, match="hull gives no vectors of texts"):
        client.embeddings.create(model="hull", input="x")
    with pytest.raises(openai.PermissionDeniedError, match="Invalid API key"):
        client.with_options(api_key="wrong").completions.create(model="novels", prompt="x")


def test_stops_end_a_text_in_both_ways(ask: Call) -> None:
    asked = {"model": "novels", "prompt": "the cat", "max_tokens": 12, "temperature": 0}
    text = ask("POST", "/v1/completions", json=asked).json()["choices"][0]["text"]
    stop = text.split()[1]
    ended = ask("POST", "/v1/completions", json=asked | {"stop": stop}).json()["choices"][0]
    assert (ended["text"], ended["finish_reason"]) == (text[: text.find(stop)], "stop")
    body = ask("POST", "/v1/completions", json=asked | {"stop": [stop], "stream": True})
    assert body.headers["content-type"].startswith("text/event-stream")
    events = [line.removeprefix("data: ") for line in body.text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    assert "".join(json.loads(one)["choices"][0]["text"] for one in events[:-1]) == ended["text"]


def test_several_texts_are_drawn_and_a_seed_repeats_them(ask: Call) -> None:
    asked = {"model": "novels", "prompt": "the", "max_tokens": 8, "n": 3, "seed": 5, "temperature": 1.5}
    first, second = (ask("POST", "/v1/completions", json=asked).json()["choices"] for _ in range(2))
    assert first == second
    assert len({one["text"] for one in first}) > 1
    assert [one["index"] for one in first] == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"logprobs": 2}, "logprobs: is not offered"),
        ({"presence_penalty": 0.5}, "presence_penalty: is not offered"),
        ({"max_tokens": 65}, "may ask for 64 tokens"),
        ({"max_tokens": 0}, "a token at least"),
        ({"temperature": 3}, "must lie between 0 and 2"),
        ({"best_of": 4}, "best_of"),
        ({"stream": True, "n": 2}, "one text for each prompt can be streamed"),
        ({"stop": [""]}, "stop: at most 4 texts"),
        ({"prompt": "the " * 40}, "has room for 31"),
        ({"model": "moods"}, "moods goes on with no texts; models that do: novels"),
        ({"prompt": [1, 2]}, "Invalid request"),
    ],
)
def test_what_is_not_offered_is_refused(change: dict[str, Any], sentence: str, ask: Call) -> None:
    answer = ask("POST", "/v1/completions", json={"model": "novels", "prompt": "the", "max_tokens": 2} | change)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]["message"]


def test_embeddings_have_the_models_width(ask: Call) -> None:
    answer = ask("POST", "/v1/embeddings", json={"model": "vectors", "input": "the cat", "dimensions": 4})
    assert "have 16 numbers, and no fewer" in answer.json()["error"]["message"]
    assert ask("POST", "/v1/embeddings", json={"model": "vectors", "input": []}).status_code == 400
