"""What clients ask and what they are answered: the fields of each call, which are also its OpenAPI description."""

from typing import Annotated, Any, NotRequired, TypedDict, TypeVar

import msgspec
from msgspec import Meta, Struct

_Call = TypeVar("_Call", bound=Struct)
_LISTS = ("q", "translation")  # the fields that a form may give several times, as a list

Code = Annotated[str, Meta(description="A language code, as GET /languages lists them", examples=["en"])]
Source = Annotated[str, Meta(description="A language code, or auto", examples=["en"])]
TextOrTexts = Annotated[str | list[str], Meta(description="A text, or several")]
Key = Annotated[str | None, Meta(description="An API key, where the server asks for one")]


class Keyed(Struct, kw_only=True):
    """What every call may have."""

    api_key: Key = None


class Translate(Keyed, kw_only=True):
    """Texts to translate."""

    q: TextOrTexts
    source: Source
    target: Code
    format: Annotated[str | None, Meta(description="text, or html to keep the markup")] = None
    alternatives: Annotated[int | None, Meta(description="How many further translations are welcome")] = None


class Detect(Keyed, kw_only=True):
    """A text whose language is asked for."""

    q: Annotated[str, Meta(description="A text")]


class Align(Keyed, kw_only=True):
    """Texts and their translations, whose words are to be linked."""

    q: TextOrTexts
    translation: Annotated[str | list[str], Meta(description="Its translation, or one for each text")]
    source: Source
    target: Code


class Explain(Keyed, kw_only=True):
    """A text whose translation is to be explained."""

    q: Annotated[str, Meta(description="A text of one line")]
    source: Source
    target: Code
    prefix: Annotated[str | None, Meta(description="What the translation starts with")] = None


class DetectedLanguage(TypedDict):
    """A language that a text may be in, with a confidence in percent."""

    language: str
    confidence: Annotated[float, Meta(ge=0, le=100)]


class Translations(TypedDict):
    """One translation of each text, as a list where a list was asked for; further ones and languages alike."""

    translatedText: str | list[str]
    alternatives: NotRequired[list[str | list[str]]]
    detectedLanguage: NotRequired[DetectedLanguage | list[DetectedLanguage]]


class Language(TypedDict):
    """A language, with what it can be translated into."""

    code: str
    name: str
    targets: list[str]


class WordLink(TypedDict):
    """Two words that belong together, by number."""

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
    """Everything that led to a translation."""

    source: WordsOfText
    target: WordsOfText
    score: float
    links: list[WordLink]
    parts: list[dict[str, Any]]


class Health(TypedDict):
    """Whether the server works, and how much waits."""

    status: str
    waiting: int
    models: list[dict[str, str]]


class ErrorAnswer(TypedDict):
    """Why a request is not served."""

    error: str


def from_json(body: bytes, kind: type[_Call]) -> _Call:
    """The call in a JSON body, or a ValueError that says what is wrong with it."""
    try:
        return msgspec.json.decode(body, type=kind)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("the body is not UTF-8") from error
    except msgspec.MsgspecError as error:
        raise ValueError(_sentence(error)) from error


def from_form(fields: list[tuple[str, str]], kind: type[_Call]) -> _Call:
    """The call in the fields of a form; numbers are written as text there, and an empty field is one left out."""
    table: dict[str, Any] = {}
    for name, value in fields:
        if name in _LISTS and name in table:
            table[name] = [*(table[name] if isinstance(table[name], list) else [table[name]]), value]
        elif value or name in _LISTS:
            table[name] = value
    try:
        call = msgspec.convert(table, type=kind, strict=False)
        msgspec.json.encode(call)
    except UnicodeEncodeError as error:  # there are character sets that can write such a half
        raise ValueError("a field has half of a surrogate pair, which is no character") from error
    except msgspec.MsgspecError as error:
        raise ValueError(_sentence(error)) from error
    return call


def _sentence(error: msgspec.MsgspecError) -> str:
    """`Object missing required field `q`` as LibreTranslate says it, everything else as it is."""
    message = str(error)
    if message.startswith("Object missing required field"):
        return f"missing {message.split('`')[1]} parameter"
    return message.replace("`", "'").replace(" - at '$.", " in '").replace("'$", "'the body")
