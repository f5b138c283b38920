"""Requests and responses of the calls that OpenAI's clients make: embeddings, completions, the list of models.

https://platform.openai.com/docs/api-reference; settings that a model here does not have are refused unless they have
the value that changes nothing.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from msgspec import Meta

from regard.apps.server.messages import Keyed, TextOrTexts

_Model = Annotated[str, Meta(description="A model's name, as GET /v1/models lists them")]
_Share = Annotated[float | None, Meta(description="Nucleus sampling: the probability of the tokens to draw among")]


class EmbeddingsCall(Keyed, kw_only=True):
    """Texts whose vectors are asked for."""

    input: TextOrTexts
    model: _Model
    encoding_format: Annotated[Literal["float", "base64"] | None, Meta(description="Numbers, or float32 bytes")] = None
    dimensions: Annotated[int | None, Meta(description="Only the width of the model's vectors")] = None
    user: Annotated[str | None, Meta(description="Is not read")] = None


class StreamOptions(TypedDict):
    """What a stream tells besides text."""

    include_usage: NotRequired[bool | None]
    include_obfuscation: NotRequired[bool | None]


class CompletionsCall(Keyed, kw_only=True):
    """Texts to go on with."""

    model: _Model
    prompt: Annotated[str | list[str] | None, Meta(description="A text to go on with, or several")] = None
    max_tokens: Annotated[int | None, Meta(description="The most tokens to write; 16 unless given")] = None
    temperature: Annotated[float | None, Meta(description="0 is greedy search; 1 samples as the model says")] = None
    top_p: _Share = None
    n: Annotated[int | None, Meta(description="How many texts for each prompt")] = None
    seed: Annotated[int | None, Meta(description="The same seed draws the same text")] = None
    stop: Annotated[str | list[str] | None, Meta(description="Texts before which a text ends, at most 4")] = None
    echo: Annotated[bool | None, Meta(description="Give the prompt too")] = None
    stream: Annotated[bool | None, Meta(description="Give the text piece by piece, as server-sent events")] = None
    stream_options: Annotated[StreamOptions | None, Meta(description="include_usage: count the tokens at the end")] = (
        None
    )
    best_of: Annotated[int | None, Meta(description="Only as many as n")] = None
    logprobs: Annotated[int | None, Meta(description="Not offered")] = None
    suffix: Annotated[str | None, Meta(description="Not offered")] = None
    presence_penalty: Annotated[float | None, Meta(description="Only 0")] = None
    frequency_penalty: Annotated[float | None, Meta(description="Only 0")] = None
    logit_bias: Annotated[dict[str, float] | None, Meta(description="Not offered")] = None
    user: Annotated[str | None, Meta(description="Is not read")] = None


class ListedModel(TypedDict):
    """A model."""

    id: str
    object: str
    created: int
    owned_by: str


class ModelList(TypedDict):
    """All models."""

    object: str
    data: list[ListedModel]


class EmbeddingRow(TypedDict):
    """The vector of one text, as numbers or as the bytes of float32 in base64."""

    object: str
    index: int
    embedding: list[float] | str


class EmbeddingList(TypedDict):
    """The vectors of all texts, and how many tokens they have."""

    object: str
    data: list[EmbeddingRow]
    model: str
    usage: dict[str, int]


class CompletionChoice(TypedDict):
    """A text, or the next piece of it; `finish_reason` is stop or length, and None while it goes on."""

    text: str
    index: int
    logprobs: None
    finish_reason: str | None


class Completion(TypedDict):
    """The texts of all prompts."""

    id: str
    object: str
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: NotRequired[dict[str, int] | None]


Event = dict[str, Any]
"""what a server-sent event holds"""
