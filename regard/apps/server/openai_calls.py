"""The calls that OpenAI's clients make, for the models that can answer them: embeddings and completions."""

import base64
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from starlette.responses import Response, StreamingResponse

from regard.apps.server.messages import Refusal
from regard.apps.server.openai_messages import (
    Completion,
    CompletionChoice,
    CompletionsCall,
    EmbeddingList,
    EmbeddingRow,
    EmbeddingsCall,
    ListedModel,
    ModelList,
)
from regard.apps.server.served import EmbeddingTexts, ServedModel
from regard.apps.server.service import Service
from regard.apps.server.writing import Speech, Telling, Writing, stop_in, told
from regard.base.errors import UsageError
from regard.decoding.generator import Generation, Generator
from regard.decoding.scorer import most_positions
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategies.sample import Sample
from regard.decoding.strategy import Strategy

_DEFAULT_TOKENS = 16
_MOST_TEMPERATURE = 2.0
_MOST_STOPS = 4
_UNCHANGING: dict[str, tuple[Any, ...]] = {
    "logprobs": (None,),
    "suffix": (None, ""),
    "presence_penalty": (None, 0),
    "frequency_penalty": (None, 0),
    "logit_bias": (None, {}),
}


@dataclass(frozen=True)
class _Order:
    """What a completion asks for, checked."""

    model: ServedModel
    prompts: tuple[str, ...]
    strategy: Strategy
    texts: int
    stops: tuple[str, ...]
    echo: bool

    @property
    def opened(self) -> Generator:
        """The language model."""
        opened: Generator = self.model.opened
        return opened

    def spelled(self, prompt: str) -> str:
        """The prompt as its tokens spell it, which is what a text begins with."""
        return self.opened.subwords.decode(self.opened.subwords.encode(prompt))


class OpenAICalls:
    """The calls of a service, each from a request to a response."""

    def __init__(self, service: Service) -> None:
        self._service, self._models = service, service.models
        self._since = int(time.time())

    async def list_models(self) -> ModelList:
        """List the models, as OpenAI's API does."""
        return ModelList(object="list", data=[self._listed(one) for one in self._models.all])

    def one_model(self, name: str) -> ListedModel:
        """One of them."""
        return self._listed(self._named(name))

    async def embeddings(self, call: EmbeddingsCall) -> EmbeddingList:
        """Give the vectors of texts, as OpenAI's API does."""
        model, texts = self._named(call.model), call.input if isinstance(call.input, list) else [call.input]
        if model.reader is None:
            able = ", ".join(one.name for one in self._models.reading_texts()) or "none"
            raise Refusal(400, f"{model.name} gives no vectors of texts; models that do: {able}")
        self._service.check_size(texts)
        if not texts or not all(text.strip() for text in texts):
            raise Refusal(400, "input: give a text, or a list of texts, none of them empty")
        vectors = await self._service.ask(EmbeddingTexts(model), texts)
        if call.dimensions not in (None, len(vectors[0])):
            raise Refusal(400, f"dimensions: the vectors of {model.name} have {len(vectors[0])} numbers, and no fewer")
        as_bytes = call.encoding_format == "base64"
        data = [
            EmbeddingRow(
                object="embedding",
                index=at,
                embedding=base64.b64encode(one.astype("<f4").tobytes()).decode() if as_bytes else one.tolist(),
            )
            for at, one in enumerate(vectors)
        ]
        tokens = sum(len(row) for row, _ in model.reader.frame.rows(model.reader.subwords, [[text] for text in texts]))
        return EmbeddingList(object="list", data=data, model=model.name, usage=_usage(tokens))

    async def completions(self, call: CompletionsCall) -> Completion:
        """Go on with texts, as OpenAI's API does; with `stream`, piece by piece as server-sent events."""
        order = self._order(call)
        if call.stream:
            counted = bool((call.stream_options or {}).get("include_usage"))
            return cast(Completion, self._streamed(order, counted))  # a response is passed on as it is
        found = await self._service.ask(Writing(order.model, order.strategy), order.prompts)
        choices, written = list[CompletionChoice](), 0
        for prompt, texts in zip(order.prompts, found, strict=True):
            for one in (texts * order.texts)[: order.texts]:
                text, reason = self._ended(order, prompt, one)
                shown = order.spelled(prompt) + text if order.echo else text
                choices.append(CompletionChoice(text=shown, index=len(choices), logprobs=None, finish_reason=reason))
                written += len(one.tokens)
        read = sum(len(order.opened.subwords.encode(prompt)) for prompt in order.prompts)
        return cast(Completion, self._head(order) | {"choices": choices, "usage": _usage(read, written)})

    def _order(self, call: CompletionsCall) -> _Order:
        model, limits = self._named(call.model), self._service.limits
        if not isinstance(model.opened, Generator):
            able = ", ".join(one.name for one in self._models.all if isinstance(one.opened, Generator)) or "none"
            raise Refusal(400, f"{model.name} goes on with no texts; models that do: {able}")
        for name, usual in _UNCHANGING.items():
            if getattr(call, name) not in usual:
                raise Refusal(400, f"{name}: is not offered here; leave it out")
        prompts = tuple(call.prompt) if isinstance(call.prompt, list) else (call.prompt or "",)
        self._service.check_size(prompts)
        texts, tokens = call.n or 1, _DEFAULT_TOKENS if call.max_tokens is None else call.max_tokens
        if not prompts or texts < 1 or tokens < 1:
            raise Refusal(400, "prompt, n and max_tokens: there must be a prompt, a text and a token at least")
        if len(prompts) * texts * tokens > limits.written:
            raise Refusal(400, f"max_tokens: a request may ask for {limits.written} tokens, all of its texts together")
        if call.best_of not in (None, texts):
            raise Refusal(400, "best_of: only as many texts are written as n says; leave it out")
        if call.stream and texts > 1:
            raise Refusal(400, "n: one text for each prompt can be streamed; leave n or stream out")
        stops = tuple([call.stop] if isinstance(call.stop, str) else call.stop or ())
        if len(stops) > _MOST_STOPS or not all(stops):
            raise Refusal(400, f"stop: at most {_MOST_STOPS} texts, none of them empty")
        room = most_positions(model.opened.models)
        longest = max(len(model.opened.subwords.encode(prompt)) for prompt in prompts)
        if room is not None and longest >= room:
            raise Refusal(400, f"prompt: has {longest} tokens, but {model.name} has room for {room - 1}")
        return _Order(model, prompts, _strategy(call, texts, tokens), texts, stops, bool(call.echo))

    def _streamed(self, order: _Order, counted: bool) -> Response:
        head = self._head(order)

        def event(choices: list[CompletionChoice], **more: Any) -> bytes:
            return b"data: " + msgspec.json.encode(head | {"choices": choices} | more) + b"\n\n"

        async def events() -> AsyncIterator[bytes]:
            read = written = 0
            for number, prompt in enumerate(order.prompts):
                skip = 0 if order.echo else len(order.spelled(prompt))
                speech = Speech(prompt, skip, order.stops, bool)
                last: Generation | None = None
                async for piece in told(self._service, Telling(order.model, order.strategy), speech):
                    if isinstance(piece, str):
                        yield event([CompletionChoice(text=piece, index=number, logprobs=None, finish_reason=None)])
                    else:
                        last = piece
                reason = "stop" if last is None else self._reason(order, prompt, last)
                yield event([CompletionChoice(text="", index=number, logprobs=None, finish_reason=reason)])
                read += len(order.opened.subwords.encode(prompt))
                written += len(order.opened.subwords.encode(speech.text)) if last is None else len(last.tokens)
            if counted:
                yield event([], usage=_usage(read, written))
            yield b"data: [DONE]\n\n"

        async def guarded() -> AsyncIterator[bytes]:
            try:
                async for one in events():
                    yield one
            except Refusal as refusal:  # the status is told already: clients read the error as an event
                yield b"data: " + msgspec.json.encode(refusal.as_openai()) + b"\n\n"

        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(guarded(), media_type="text/event-stream", headers=headers)

    def _ended(self, order: _Order, prompt: str, one: Generation) -> tuple[str, str]:
        """A text up to the first stop, and why it ended."""
        at = stop_in(one.written, order.stops)
        return (one.written, self._reason(order, prompt, one)) if at is None else (one.written[:at], "stop")

    @staticmethod
    def _reason(order: _Order, prompt: str, one: Generation) -> str:
        room = most_positions(order.opened.models)
        limit = order.strategy.max_length or 0
        if room is not None:
            limit = min(limit, room - 1 - len(order.opened.subwords.encode(prompt)))
        return "length" if len(one.tokens) >= limit else "stop"

    def _head(self, order: _Order) -> Any:
        made = {"id": f"cmpl-{secrets.token_hex(12)}", "object": "text_completion", "created": int(time.time())}
        return made | {"model": order.model.name}

    def _named(self, name: str) -> ServedModel:
        try:
            return self._models.named(name)
        except UsageError as error:
            raise Refusal(404, str(error)) from error

    def _listed(self, model: ServedModel) -> ListedModel:
        return ListedModel(id=model.name, object="model", created=self._since, owned_by="regard")


def _strategy(call: CompletionsCall, texts: int, tokens: int) -> Strategy:
    heat = 1.0 if call.temperature is None else call.temperature
    share = 1.0 if call.top_p is None else call.top_p
    if not 0 <= heat <= _MOST_TEMPERATURE or not 0 < share <= 1:
        raise Refusal(400, "temperature and top_p: must lie between 0 and 2, and between 0 and 1")
    if heat == 0:
        return Greedy(max_length=tokens)
    seed = secrets.randbits(62) if call.seed is None else abs(call.seed) % (1 << 62)
    return Sample(max_length=tokens, temperature=heat, top_p=share, seed=seed, n_best=texts)


def _usage(read: int, written: int | None = None) -> dict[str, int]:
    more = {} if written is None else {"completion_tokens": written}
    return {"prompt_tokens": read, **more, "total_tokens": read + (written or 0)}
