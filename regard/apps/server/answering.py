"""The calls of models that do not translate: which there are, their answers, and what they looked at."""

from typing import cast

from regard.apps.server.messages import (
    Answers,
    Health,
    LookCall,
    LookedAt,
    Posed,
    PredictCall,
    Refusal,
    ServedModelInfo,
)
from regard.apps.server.served import Looking, Predicting, ServedModel
from regard.apps.server.served_kinds import as_text
from regard.apps.server.service import Service

_BLANK = {"text": "a text", "picture": "a picture in base64"}


class ModelCalls:
    """The calls of a service, each from a request to a response."""

    def __init__(self, service: Service) -> None:
        self._service, self._models = service, service.models

    async def models(self) -> list[ServedModelInfo]:
        """List the models with their tasks and what they are given."""
        return [
            ServedModelInfo(name=one.name, task=one.task, reads=one.reads, about=one.about) for one in self._models.all
        ]

    async def predict(self, call: PredictCall) -> Answers:
        """Answer an input or several: classes, tags, filled masks, vectors, texts, positions."""
        model = self._models.named(call.model)
        asked = [as_text(one) for one in (call.q if isinstance(call.q, list) else [call.q])]
        self._check(model, asked)
        found = await self._service.ask(Predicting(model), asked)
        return Answers(model=model.name, task=model.task, answers=found)

    async def look(self, call: LookCall) -> LookedAt:
        """Answer an input and tell what the model looked at, as its page shows it."""
        model = self._models.named(call.model)
        asked: Posed = call.q
        text = as_text(asked)
        self._check(model, [text], self._service.limits.explained if model.reads == "text" else None)
        [found] = await self._service.ask(Looking(model), [text])
        return cast(LookedAt, {"model": model.name, "task": model.task, **found})

    async def health(self) -> Health:
        """Health check: whether the server works, and the length of its queue."""
        if not self._service.batcher.alive:
            raise Refusal(503, "The server is shutting down")
        pairs = [{"source": one.source, "target": one.target} for one in self._service.engines.all]
        named = [{"name": one.name, "task": one.task} for one in self._models.all]
        return Health(status="ok", waiting=self._service.batcher.waiting, models=[*pairs, *named])

    def _check(self, model: ServedModel, asked: list[str], most: int | None = None) -> None:
        """Refuse what is empty or too large; the size of a picture is limited by that of the body."""
        if not all(text.strip() for text in asked):
            wanted = _BLANK.get(model.reads, f"an object with a {model.reads}")
            raise Refusal(400, f"Invalid request: q must be {wanted}")
        limits = self._service.limits
        sizes = {"picture": limits.body_bytes, "graph": limits.file_characters}
        self._service.check_size(asked, sizes.get(model.reads, most))
