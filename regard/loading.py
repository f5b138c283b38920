"""From a file or folder to something that translates or writes, computed by the engine of one's choice.

translator = load("runs/en-de", engine="ctranslate2")
translator.translate(["Two dogs play in the snow."], alignments=True)[0].alignment
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from regard.alignment.aligner import Aligner, links_of
from regard.alignment.word_weights import merge
from regard.base.errors import UsageError, check_one_of
from regard.data.links import Links
from regard.data.subwords.word_numbers import word_numbers
from regard.decoding.generator import Generator
from regard.decoding.strategy import Strategy
from regard.decoding.translator import Pair, Translator
from regard.inspection import loading
from regard.interop.ctranslate2_translator import CTranslate2Translator, open_ctranslate2

ENGINES = ("torch", "ctranslate2")


def load(
    paths: str | Path | Sequence[str | Path],
    strategy: Strategy | None = None,
    device: str | torch.device = "cpu",
    engine: str = "torch",
    *,
    precision: str = "float32",
    shortlist: bool = False,
    threads: int | None = None,
    tell: Callable[[str], Any] | None = None,
) -> Translator | Generator:
    """The model in a file or run folder; several of them work together as an ensemble, of which the first aligns.

    `precision` is that of the products with large matrices: `int8` is faster than `float32`, and loses little. With
    `shortlist`, only words are scored that `regard shortlist` found likely for a text.

    The engine `ctranslate2` also reads what `regard export` wrote, and computes with so many `threads`, all cores
    unless set; given a model or a run it makes an export, and says so through `tell`. torch's threads are set for the
    whole process, by `torch.set_num_threads`.
    """
    check_one_of("load", ENGINES, engine=engine)
    if engine == "torch":
        return loading.load(paths, strategy, device, precision=precision, shortlist=shortlist)
    if precision != "float32":
        raise UsageError("load: the engine ctranslate2 computes in the precision of its export; see regard export")
    places = [paths] if isinstance(paths, str | Path) else list(paths)
    if len(places) != 1:
        raise UsageError(f"load: the engine ctranslate2 takes one model, not {len(places)}; an ensemble needs torch")
    return _aligning(
        open_ctranslate2(places[0], strategy, device=str(device), threads=threads, shortlist=shortlist, tell=tell)
    )


def _aligning(translator: CTranslate2Translator) -> CTranslate2Translator:
    """The translator with an aligner: the exported heads or, where they lie in several layers, the model itself."""
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


def _links(translator: Translator, pair: Pair, weights: Any) -> Links:
    target = word_numbers(translator.target, pair.target, pair.target_ids)
    source = word_numbers(translator.source, pair.source, pair.source_ids)
    if not len(target) or not len(source):
        return ()
    rows = torch.from_numpy(weights[: len(target)])[None, None]
    merged = merge(rows, torch.from_numpy(source)[None], torch.from_numpy(target)[None])
    return links_of(merged[0, 0].numpy())
