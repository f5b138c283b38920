import msgspec
import pytest

from regard.apps.server.openai_messages import CompletionsCall, EmbeddingsCall


def test_a_call_needs_its_model_and_leaves_the_rest_as_it_is() -> None:
    call = msgspec.json.decode(b'{"model": "novels", "prompt": ["a", "b"], "stop": "c"}', type=CompletionsCall)
    assert (call.model, call.prompt, call.stop, call.stream) == ("novels", ["a", "b"], "c", None)
    with pytest.raises(msgspec.ValidationError, match="missing required field `model`"):
        msgspec.json.decode(b'{"prompt": "a"}', type=CompletionsCall)


def test_tokens_of_another_tokenizer_are_no_texts() -> None:
    assert msgspec.json.decode(b'{"model": "m", "input": "a"}', type=EmbeddingsCall).input == "a"
    with pytest.raises(msgspec.ValidationError, match="input"):
        msgspec.json.decode(b'{"model": "m", "input": [1, 2]}', type=EmbeddingsCall)
    with pytest.raises(msgspec.ValidationError, match="encoding_format"):
        msgspec.json.decode(b'{"model": "m", "input": "a", "encoding_format": "text"}', type=EmbeddingsCall)
