"""Word alignment for a CTranslate2 translator, from the attention heads that its export keeps."""

from typing import Any

import torch

from regard.alignment.aligner import Aligner, links_of
from regard.alignment.word_weights import merge
from regard.data.links import Links
from regard.data.subwords.token_spans import token_spans, word_shares
from regard.data.word_spans import word_spans
from regard.decoding.translation import Pair
from regard.interop.ctranslate2_translator import CTranslate2Translator


def with_aligner(translator: CTranslate2Translator) -> CTranslate2Translator:
    """The translator with an aligner: by the exported heads, or by the model in torch if they are in several layers."""
    shift = translator.attention_shift

    def by_export(pairs: list[Pair]) -> list[Links]:
        rows = translator.attention(pairs)
        return [_links(translator, pair, own[shift or 0 :]) for pair, own in zip(pairs, rows, strict=True)]

    def by_model(pairs: list[Pair]) -> list[Links]:
        return Aligner(translator, grain="segments")(pairs)

    if shift is not None:
        translator.aligner = by_export
    elif translator.model_path is not None:
        translator.aligner = by_model
    return translator


def _links(translator: CTranslate2Translator, pair: Pair, weights: Any) -> Links:
    said = word_shares(token_spans(translator.target, pair.target, pair.target_ids), word_spans(pair.target))
    read = word_shares(token_spans(translator.source, pair.source, pair.source_ids), word_spans(pair.source))
    if not said.size or not read.size:
        return ()
    rows = torch.from_numpy(weights[: len(said), : len(read)])[None, None]
    return links_of(merge(rows, torch.from_numpy(read)[None], torch.from_numpy(said)[None])[0, 0].numpy())
