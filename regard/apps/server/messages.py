"""Requests and responses: the fields of each call, which are also its OpenAPI description.

A refusal is told as LibreTranslate does it: {"error": "one sentence"}.
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta, Struct
from starlette.responses import Response

Code = Annotated[str, Meta(description="A language code, as GET /languages lists them", examples=["en"])]
Source = Annotated[str, Meta(description="A language code, or auto", examples=["en"])]
TextOrTexts = Annotated[str | list[str], Meta(description="A text, or several")]
Key = Annotated[str | None, Meta(description="An API key, where the server asks for one")]


class Keyed(Struct, kw_only=True):
    """The fields of every call."""

    api_key: Key = None


class TranslateCall(Keyed, kw_only=True):
    """Texts to translate."""

    q: TextOrTexts
    source: Source
    target: Code
    format: Annotated[str | None, Meta(description="text, or html to keep the markup")] = None
    alternatives: Annotated[int | None, Meta(description="How many alternative translations to give")] = None
    glossary: Annotated[
        dict[str, str] | None,
        Meta(description="Terms and their translations, which must come out as given; in a form, as JSON"),
    ] = None


class DetectCall(Keyed, kw_only=True):
    """A text whose language is asked for."""

    q: Annotated[str, Meta(description="A text")]


class AlignCall(Keyed, kw_only=True):
    """Texts and their translations, whose words are to be aligned."""

    q: TextOrTexts
    translation: Annotated[str | list[str], Meta(description="Its translation, or one for each text")]
    source: Source
    target: Code


class ExplainCall(Keyed, kw_only=True):
    """A text whose translation is to be explained."""

    q: Annotated[str, Meta(description="A text")]
    source: Source
    target: Code
    prefix: Annotated[str | None, Meta(description="What the translation starts with")] = None
    at: Annotated[
        int | None, Meta(description="A position in the text: only the sentence there is explained, for longer texts")
    ] = None
    attention: Annotated[
        str | None, Meta(description="cross, or all to get the self-attention of encoder and decoder as well")
    ] = None


class SuggestCall(Keyed, kw_only=True):
    """A better translation of a text, suggested by a reader."""

    q: Annotated[str, Meta(description="The text")]
    s: Annotated[str, Meta(description="The suggested translation")]
    source: Source
    target: Code


class FileCall(Keyed, kw_only=True):
    """A file to translate."""

    file: Annotated[bytes, Meta(description="The file; the ending of its name tells its format")]
    source: Source
    target: Code
    filename: Annotated[str | None, Meta(description="The file's name, if the part itself has none")] = None


ModelName = Annotated[str | None, Meta(description="A model's name, as GET /models lists them; not needed for one")]
Posed = str | dict[str, Any]


class PredictCall(Keyed, kw_only=True):
    """Inputs to answer."""

    q: Annotated[
        Posed | list[Posed],
        Meta(description="A text, or several; an object with points, elements, or features and edges; a picture"),
    ]
    model: ModelName = None


class LookCall(Keyed, kw_only=True):
    """An input to answer, whose answer is to be explained."""

    q: Annotated[Posed, Meta(description="A text, an object, or a picture, as for /predict")]
    model: ModelName = None


class DetectedLanguage(TypedDict):
    """A language that a text may be in, with a confidence in percent."""

    language: str
    confidence: Annotated[float, Meta(ge=0, le=100)]


class Translations(TypedDict):
    """The translation of each text, as a list if q was a list; alternatives and languages likewise."""

    translatedText: str | list[str]
    alternatives: NotRequired[list[str | list[str]]]
    detectedLanguage: NotRequired[DetectedLanguage | list[DetectedLanguage]]


class ServedLanguage(TypedDict):
    """A language, with what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class WordLink(TypedDict):
    """A link between two words, by number."""

    source: int
    target: int
    confidence: float


class LinkedWords(TypedDict):
    """The words of a text and of its translation, with their links."""

    source: list[str]
    target: list[str]
    links: list[WordLink]


class WordsOfText(TypedDict):
    """A text and its words."""

    text: str
    words: list[str]


class Explained(TypedDict):
    """The explanation of a translation."""

    source: WordsOfText
    target: WordsOfText
    score: float
    links: list[WordLink]
    parts: list[dict[str, Any]]
    attention: list[str]
    model: str
    detected: NotRequired[DetectedLanguage]


class ServedModelInfo(TypedDict):
    """A served model: its name, what it does, what it is given, and what else one must know to ask it."""

    name: str
    task: str
    reads: str
    about: dict[str, Any]


class Answers(TypedDict):
    """The answer to each input, as a list if q was a list."""

    model: str
    task: str
    answers: list[dict[str, Any]]


class LookedAt(TypedDict):
    """An answer, and what the model looked at; the fields differ by task."""

    model: str
    task: str
    answer: dict[str, Any]


class Suggested(TypedDict):
    """Whether a suggestion was stored."""

    success: bool


class TranslatedFile(TypedDict):
    """The address of a translated file."""

    translatedFileUrl: str


class Health(TypedDict):
    """Whether the server works, and the length of its queue."""

    status: str
    waiting: int
    models: list[dict[str, str]]


class OpenAIError(TypedDict):
    """The reason of a refusal, as clients of OpenAI's API read it."""

    error: dict[str, str | None]


class ErrorAnswer(TypedDict):
    """The reason of a refusal."""

    error: str


def answer(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The content as JSON. A lone surrogate, which UTF-8 cannot write, becomes U+FFFD."""
    try:
        body = msgspec.json.encode(content)
    except UnicodeEncodeError:
        text = json.dumps(content, ensure_ascii=False)
        body = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    return Response(body, status, headers, media_type="application/json")


class Refusal(Exception):
    """An error response. `retry_after` is the number of seconds after which to try again."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, close: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after, self.close = status, message, retry_after, close

    def response(self, path: str = "") -> Response:
        """The HTTP response; `close` ends the connection without reading the rest.

        Below /v1/ it has the form that clients of OpenAI's API read.
        """
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        told: Any = self.as_openai() if path.startswith("/v1/") else {"error": self.message}
        return answer(told, self.status, headers | ({"Connection": "close"} if self.close else {}))

    def as_openai(self) -> OpenAIError:
        """The refusal in OpenAI's form."""
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": None, "code": None}}
