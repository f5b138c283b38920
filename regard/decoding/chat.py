"""Chat templates: a Jinja text that comes with a tokenizer and turns messages into the prompt that a model was taught.

    [{"role": "user", "content": "Hello"}]  →  <|im_start|>user⏎Hello<|im_end|>⏎<|im_start|>assistant⏎

A template is a program from a stranger's folder: it runs in Jinja's sandbox, which gives it nothing but the messages.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from regard.base.errors import RegardError, UsageError
from regard.data.subwords.tokenizer import EOS
from regard.runs.artifact import Artifact

_LONGEST = 1_000_000
"""characters of a template, and of what it may make"""


@dataclass(frozen=True)
class ChatTemplate:
    """The template of a tokenizer, and the names of its special tokens."""

    text: str
    names: Mapping[str, str]
    """what templates call `bos_token`, `eos_token` …"""

    def prompt(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The prompt of some messages, each with a role and a content, up to where the answer begins."""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.filters["tojson"] = _as_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda form: datetime.now(UTC).strftime(form)
        try:
            made = environment.from_string(self.text).render(
                messages=[dict(message) for message in messages], add_generation_prompt=True, **self.names
            )
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise RegardError(f"chat template: {str(error) or type(error).__name__}") from error
        return self._without_start(made)

    def _without_start(self, made: str) -> str:
        """A model starts after `<s>` of itself; a `</s>` between turns cannot be part of a prompt."""
        made = made.removeprefix(self.names.get("bos_token", ""))
        end = self.names.get("eos_token")
        if end in ("</s>", "<|endoftext|>") and end in made:
            raise UsageError(f"chat template: it puts {end} between turns; give one message, without those before it")
        return made


def _as_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(str(message))


def chat_of(artifact: Artifact) -> ChatTemplate | None:
    """The chat template that came with an imported model, if it has one."""
    files = _told(artifact).get("files") or {}
    config = _table(files.get("tokenizer_config.json"))
    text = files.get("chat_template.jinja") or config.get("chat_template")
    if isinstance(text, list):  # several templates, by name
        text = next((one.get("template") for one in text if one.get("name") == "default"), None)
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    names = {name: _spelled(config.get(name)) for name in ("bos_token", "eos_token", "pad_token", "unk_token")}
    return ChatTemplate(text, {name: found for name, found in names.items() if found})


def stops_of(artifact: Artifact) -> tuple[int, ...]:
    """The tokens that end a text of an imported model beside `</s>`, as its configs say."""
    told = _told(artifact)
    order = told.get("order")
    named: set[int | None] = set()
    for table in (told.get("config") or {}, _table((told.get("files") or {}).get("generation_config.json"))):
        ends = table.get("eos_token_id")
        named |= set(ends if isinstance(ends, list) else [ends])
    if not isinstance(order, list):
        return ()
    return tuple(new for new, old in enumerate(order) if old in named and old is not None and new != EOS)


def _told(artifact: Artifact) -> Mapping[str, Any]:
    found = artifact.extras.get("huggingface")
    return found if isinstance(found, Mapping) else {}


def _table(text: str | None) -> Mapping[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _spelled(token: Any) -> str:
    """A special token's name, which older files wrap in a table."""
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")
