"""Word alignment for a CTranslate2 translator, from the attention heads that its export keeps."""

from typing import Any

import torch

from regard.alignment.aligner import Aligner, links_of
from regard.alignment.word_weights import merge
from regard.data.links import Links
from regard.data.subwords.word_numbers import word_numbers
from regard.decoding.translation import Pair
from regard.interop.ctranslate2_translator import CTranslate2Translator


def with_aligner(translator: CTranslate2Translator) -> CTranslate2Translator:
    """The translator with an aligner: by the exported heads, or by the model in torch if they are in several layers."""
    shift = translator.attention_shift

    def by_export(pairs: list[Pair]) -> list[Links]:
        rows = translator.attention(pairs)
        return [_links(translator, pair, own[shift or 0 :]) for pair, own in zip(pairs, rows, strict=True)]

    def by_model(pairs: list[Pair]) -> list[Links]:
        return Aligner(translator)(pairs)

    if shift is not None:
        translator.aligner = by_export
    elif translator.model_path is not None:
        translator.aligner = by_model
    return translator


def _links(translator: CTranslate2Translator, pair: Pair, weights: Any) -> Links:
    target = word_numbers(translator.target, pair.target, pair.target_ids)
    source = word_numbers(translator.source, pair.source, pair.source_ids)
    if not len(target) or not len(source):
        return ()
    rows = torch.from_numpy(weights[: len(target)])[None, None]
    merged = merge(rows, torch.from_numpy(source)[None], torch.from_numpy(target)[None])
    return links_of(merged[0, 0].numpy())
