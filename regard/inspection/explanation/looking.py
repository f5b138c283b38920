"""One text and its translation under teacher forcing: tokens, alternatives, attention weights, word links."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import torch

from regard.alignment.aligner import Aligner
from regard.alignment.head_choice import HeadChoice, chosen_heads
from regard.attention.record import attention_layers
from regard.data.links import Link, Links
from regard.data.subwords.tokenizer import EOS, Subwords
from regard.data.word_spans import Span, word_spans
from regard.decoding.search import search
from regard.decoding.strategy import Strategy
from regard.decoding.trace import Trace
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator
from regard.inspection.explanation.beam_path import Path, beam_path
from regard.inspection.explanation.forced import ATTENTION_KINDS, AttentionKind, Forced, force, likeliest
from regard.inspection.explanation.text_part import Layer, ShownAlternative, TextPart, Written, measured_layer
from regard.inspection.explanation.tokens import SPACE, shown, shown_words, tokens_of

OTHERS = 6
"""the number of alternatives shown for a target token"""


class FoundTranslation(NamedTuple):
    """The ids of a translation, its text, and the path of the search."""

    tokens: tuple[int, ...]
    text: str
    path: Path = ()


def find_translation(
    translator: Translator, text: str, given: list[int], strategy: Strategy | None
) -> FoundTranslation:
    """The best translation; the given ids, where there is nothing to search.

    Placeholders such as `{name}` and addresses are kept as `translate` keeps them, without a path of the search.
    """
    spelled = translator.opened(text)
    if strategy is None:
        return FoundTranslation(tuple(given), spelled.target.decode(given))
    if not given and translator.keeper is not None and translator.keeper.finds(text):
        [kept] = translator.translate([text], strategy=strategy, split="line")
        return FoundTranslation(tuple(spelled.target.encode(kept.text)), kept.text)
    device = next(translator.models[0].parameters()).device
    source = torch.tensor([[*spelled.source.encode(text), EOS]], device=device)
    lengths = torch.tensor([source.shape[1]], device=device)
    trace = Trace()
    [[best, *_]] = search(translator.models, source, lengths, strategy, [given], trace=trace)
    return FoundTranslation(best.tokens, spelled.target.decode(best.tokens), beam_path(trace[0], best.tokens))


def look_into(
    translator: Translator,
    text: str,
    translation: FoundTranslation,
    forced: int,
    before: str,
    attention: tuple[AttentionKind, ...],
    effects: bool | None = False,
) -> TextPart:
    """The explanation of a text and its translation, of which the first `forced` tokens were given.

    `effects` measures each head by the translation's log-probability without it; None: unless that takes long.
    """
    vocabulary = translator.opened(text)
    read = tuple(vocabulary.source.encode(text))
    found, spelled, path = translation
    seen = force(translator.models, [*read, EOS], [*found, EOS], {"cross", *attention}, effects)
    words = shown_words(vocabulary.source, text, read), shown_words(vocabulary.target, spelled, found)
    written = []
    for at, token in enumerate(tokens_of(vocabulary.target, spelled, found, words[1])):
        chance = float(seen.log_probabilities[at, (*found, EOS)[at]])
        others = _alternatives(vocabulary.target, found, at, seen, before)
        copied = seen.copies[at] if seen.copies else None
        written.append(Written(token, chance, at < forced, others, copied))
    cross, encoder, decoder = (_layers(seen, kind) for kind in ATTENTION_KINDS)
    return TextPart(
        score=sum(one.log_probability for one in written),
        source=tokens_of(vocabulary.source, text, read, words[0]),
        target=tuple(written),
        layers=cross,
        encoder=encoder,
        decoder=decoder,
        links=_between(words, (text, spelled), _links(translator, Pair(text, read, spelled, found), seen)),
        words=words,
        path=path,
        texts=(text, spelled),
        spelling=vocabulary.target,
    )


def _layers(seen: Forced, kind: AttentionKind) -> tuple[Layer, ...]:
    return tuple(
        measured_layer(name, own, seen.moved.get(name), seen.effects.get(name))
        for name, own in seen.attention[kind].items()
    )


def _alternatives(
    subwords: Subwords, found: tuple[int, ...], at: int, seen: Forced, before: str
) -> tuple[ShownAlternative, ...]:
    """The likeliest other tokens, without a lone space: a prefix that ends in one is no different."""
    others: list[ShownAlternative] = []
    own = (*found, EOS)[at]
    for number, chance in likeliest(seen.log_probabilities[at], OTHERS + 1, without=own):
        start = before + subwords.decode([*found[:at], number])
        token = shown(subwords, number)
        if token.text != SPACE:
            others.append(ShownAlternative(token, chance, f"{start}\n" if number == EOS else start))
    return tuple(others[:OTHERS])


def _links(translator: Translator, pair: Pair, seen: Forced) -> Links:
    """The word links; None if the alignment heads do not attend to single tokens."""
    heads = linking_heads(translator)
    if heads is None or any(layer not in seen.layers for layer in heads.layers):
        return ()
    [links] = (translator.aligner or Aligner(translator, grain="segments"))([pair])
    return links


def _between(words: Sequence[Sequence[Span]], texts: tuple[str, str], links: Links) -> Links:
    """Links between the words of `word_spans` as links between those that are shown."""
    shown = [[end for _, end in own] for own in words]
    starts = [[start for start, _ in word_spans(text)] for text in texts]
    found: dict[tuple[int, int], Link] = {}
    for link in links:
        one = bisect_right(shown[0], starts[0][link.source])
        other = bisect_right(shown[1], starts[1][link.target])
        if (one, other) not in found or found[one, other].confidence < link.confidence:
            found[one, other] = Link(one, other, link.confidence)
    return tuple(found.values())


def linking_heads(translator: Translator) -> HeadChoice | None:
    """The alignment heads; None for a model without attention over its source."""
    if isinstance(translator.aligner, Aligner):
        return translator.aligner.heads
    has_some = any(name.rpartition(".")[2] == "cross" for name in attention_layers(translator.models[0]))
    return chosen_heads(translator) if has_some else None
