"""What clients ask: the fields of each call, which are also what the OpenAPI description says of them."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

Code = Annotated[str, Meta(description="A language code, as GET /languages lists them", examples=["en"])]
Source = Annotated[str, Meta(description="A language code, or auto", examples=["en"])]
Key = Annotated[str | None, Meta(description="An API key, where the server asks for one")]


class Keyed(Struct, kw_only=True):
    """What every call may have."""

    api_key: Key = None


class Translate(Keyed, kw_only=True):
    """Texts to translate."""

    q: Annotated[str | list[str], Meta(description="A text, or several")]
    source: Source
    target: Code
    format: Annotated[str | None, Meta(description="text, or html to keep the markup")] = None
    alternatives: Annotated[int | None, Meta(description="How many further translations are welcome")] = None


class Detect(Keyed, kw_only=True):
    """A text whose language is asked for."""

    q: Annotated[str, Meta(description="A text")]


class Align(Keyed, kw_only=True):
    """Texts and their translations, whose words are to be linked."""

    q: Annotated[str | list[str], Meta(description="A text, or several")]
    translation: Annotated[str | list[str], Meta(description="Its translation, or one for each text")]
    source: Source
    target: Code


class Explain(Keyed, kw_only=True):
    """A text whose translation is to be explained."""

    q: Annotated[str, Meta(description="A text of one line")]
    source: Source
    target: Code
    prefix: Annotated[str | None, Meta(description="What the translation starts with")] = None


LISTS = ("q", "translation")
"""the fields that a form may give several times, as a list"""


def from_json(body: bytes, kind: type[Struct]) -> Any:
    """The call in a JSON body, or a ValueError that says what is wrong with it."""
    try:
        return _checked(msgspec.json.decode(body, type=kind))
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("the body is not UTF-8") from error
    except msgspec.MsgspecError as error:
        raise ValueError(_sentence(error)) from error


def from_form(fields: list[tuple[str, str]], kind: type[Struct]) -> Any:
    """The call in the fields of a form; numbers are written as text there, and an empty field is one left out."""
    table: dict[str, Any] = {}
    for name, value in fields:
        if name in LISTS and name in table:
            table[name] = [*(table[name] if isinstance(table[name], list) else [table[name]]), value]
        elif value or name in LISTS:
            table[name] = value
    try:
        return _checked(msgspec.convert(table, type=kind, strict=False))
    except msgspec.MsgspecError as error:
        raise ValueError(_sentence(error)) from error


def _checked(call: Any) -> Any:
    """The same call, if all its texts can be written as UTF-8."""
    for name in call.__struct_fields__:
        value = getattr(call, name)
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not text.isascii():
                try:
                    text.encode("utf-8")
                except UnicodeEncodeError as error:
                    raise ValueError(f"{name} has half of a surrogate pair, which is no character") from error
    return call


def _sentence(error: msgspec.MsgspecError) -> str:
    """`Object missing required field `q`` as LibreTranslate says it, everything else as it is."""
    message = str(error)
    if message.startswith("Object missing required field"):
        return f"missing {message.split('`')[1]} parameter"
    return message.replace("`", "'").replace(" - at '$.", " in '").replace("'$", "'the body")
