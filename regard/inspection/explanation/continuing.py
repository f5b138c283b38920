"""The explanation of a text that a language model reads: what each token looked at, and what may come next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from regard.attention.record import attention_layers, watch
from regard.base.errors import UsageError
from regard.data.subwords.tokenizer import EOS
from regard.decoding.generator import Generator
from regard.decoding.next_words import NextWord, next_words
from regard.decoding.scorer import evaluating, log_mean, most_positions
from regard.inspection.explanation.forced import likeliest, target_effects
from regard.inspection.explanation.head_effects import moved_lengths, moved_shares
from regard.inspection.explanation.looking import OTHERS
from regard.inspection.explanation.text_part import Layer, ShownAlternative, TextPart, Written, measured_layer
from regard.inspection.explanation.tokens import SPACE, Token, shown, shown_words, tokens_of
from regard.inspection.page.standalone import standalone
from regard.models.writer import Writer

COMING = "…"
"""how the place of the next token is shown"""


@dataclass(frozen=True, eq=False)
class Continuation:
    """A text, the words that may come next, and what the model looked at."""

    text: str
    next_words: tuple[NextWord, ...]
    part: TextPart
    """the tokens with their log-probabilities; in `decoder` the weights, whose last row predicts what is next"""
    model: str = ""
    """the name of the model, for readers"""

    def looked_at(self, layer: int = -1) -> list[tuple[str, float]]:
        """The words of the text with the weight that the next token gave to each, the mean of a layer's heads.

        What it gave to the beginning of the text is left out; empty for a model without attention.
        """
        if not self.part.decoder:
            return []
        weights = self.part.decoder[layer].weights.mean(0)[-1].tolist()[1:]
        sums: dict[int, float] = {}
        for token, weight in zip(self.part.source, weights, strict=False):
            if token.word is not None:
                sums[token.word] = sums.get(token.word, 0.0) + weight
        return [(word, sums.get(at, 0.0)) for at, word in enumerate(self.part.shown(0))]

    def to_dict(self, *, small: bool = False) -> dict[str, Any]:
        """The explanation as plain JSON, in the form of a translation's: the text is what was read and written.

        `small` packs the weights of a long text, for a page.
        """
        side = {"text": self.text, "words": self.part.shown(0), "spaced": self.part.spaced(0)}
        return {
            "source": side,
            "target": side,
            "score": round(self.part.score, 4),
            "links": [],
            "heads": None,
            "attention": ["decoder"] if self.part.decoder else [],
            "model": self.model,
            "parts": [self.part.to_dict(small=small)],
            "next": [
                {"text": word.text, "log_probability": round(word.log_probability, 4)} for word in self.next_words
            ],
            "looked_at": [{"word": word, "weight": round(weight, 4)} for word, weight in self.looked_at()],
        }

    def to_html(self, title: str = "Regard") -> str:
        """A self-contained HTML page that works offline."""
        return standalone(self.to_dict(small=True), title)


def explain_continuation(
    generator: Generator, text: str, count: int = 10, *, effects: bool | None = None
) -> Continuation:
    """Explain what a language model makes of a text: its tokens, the `count` likeliest next words, its attention.

    `effects` measures each head by the log-probability of the likeliest next token without it; None: unless that takes
    long.
    """
    subwords, models = generator.subwords, generator.models
    ids = subwords.encode(text)
    room = most_positions(models)
    if room is not None and len(ids) >= room:
        raise UsageError(f"next: the text has {len(ids)} tokens, but the model reads {room - 1}; give a shorter one")
    rows = torch.tensor([[models[0].first, *ids]], device=next(models[0].parameters()).device)
    with evaluating(models):
        chances, layers = _looked(models, rows, effects)
    spans = shown_words(subwords, text, ids)
    tokens = tokens_of(subwords, text, ids, spans)
    written = []
    for at, (token, number) in enumerate(zip([*tokens[:-1], Token(COMING, True)], [*ids, EOS], strict=True)):
        others = [
            ShownAlternative(shown(subwords, other), chance, subwords.decode([*ids[:at], other]))
            for other, chance in likeliest(chances[at], OTHERS + 1, without=number)
        ]
        kept = tuple(other for other in others if other.token.text != SPACE)[:OTHERS]
        written.append(Written(token, float(chances[at, number]), True, kept))
    score = sum(one.log_probability for one in written[:-1])
    part = TextPart((text, text), score, tokens, tuple(written), decoder=layers, spelling=subwords)
    part = replace(part, words=(spans, spans))
    return Continuation(text, tuple(next_words(generator, text, count)), part)


def _looked(models: Sequence[Writer], rows: Tensor, effects: bool | None) -> tuple[Tensor, tuple[Layer, ...]]:
    """The log-probabilities of all tokens at each position, and the attention layers of all models."""
    found: dict[str, tuple[Tensor, Tensor]] = {}
    distributions = []
    for number, model in enumerate(models, start=1):
        prefix = f"{number}:" if number > 1 else ""
        watching = watch(model, dict.fromkeys(attention_layers(model)), within=torch.no_grad)
        with watching as seen, moved_lengths(model) as lengths:
            distributions.append(model(None, None, rows).float().log_softmax(-1))
        for name, calls in seen.items():
            weights = torch.cat(calls, dim=2)[0].float().cpu()
            if weights.shape[1:] == (rows.shape[1],) * 2:
                found[prefix + name] = weights, moved_shares(weights, lengths[name][0].float().cpu())
    chances = log_mean(distributions)[0]
    measured: dict[str, Tensor] = {}
    if found and effects is not False:
        best = chances[-1:].argmax(-1)
        own = [one[0, -1, best] for one in distributions]
        shapes = {name: weights for name, (weights, _) in found.items()}
        measured = target_effects(models, (None, None, rows), best[None], own, shapes, always=bool(effects))
    layers = tuple(measured_layer(name, *both, measured.get(name)) for name, both in found.items())
    return chances.cpu(), layers
