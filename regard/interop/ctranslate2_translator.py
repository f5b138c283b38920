"""A translator that computes with CTranslate2: the same translations, several times as fast.

translator = open_ctranslate2("exports/en-de")     # or a run, for which an export is made once
translator.translate(["Two dogs play in the snow."])
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError, UsageError
from regard.base.files import cache_folder, digest
from regard.data.subwords.tokenizer import EOS
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.opening import source_language_of, split_of, strategy_of, subwords_of
from regard.decoding.strategy import Strategy
from regard.decoding.translation import Pair
from regard.decoding.translator import Translator
from regard.interop.ctranslate2_export import CTRANSLATE2, SHORTLIST, export_ctranslate2, model_pieces
from regard.interop.ctranslate2_search import Searcher, make_requests
from regard.interop.ctranslate2_spec import library
from regard.interop.export_folder import MANIFEST, read_manifest, read_tokenizers
from regard.markup.document import Keeping
from regard.models.writer import Transducer, Writer
from regard.runs.artifact import Artifact, load_artifact
from regard.runs.folder import model_file


class CTranslate2Translator(Translator):
    """Translates with the export in a folder, with `threads` workers of one thread each, by default one per core.

    Several small batches in parallel are faster than one with several threads. Candidates have `token_scores` only on
    request, since CTranslate2 needs another pass through the model for them. With `shortlist`, only words that are
    likely for one of the batch's sentences are scored. `model_path` is the model that was exported; `models` loads it,
    as recording attention weights needs.
    """

    def __init__(
        self,
        folder: str | Path,
        strategy: Strategy | None = None,
        *,
        model_path: str | Path | None = None,
        device: str = "cpu",
        threads: int | None = None,
        batch_tokens: int = 512,
        token_scores: bool = False,
        shortlist: bool = False,
    ) -> None:
        manifest = read_manifest(folder, CTRANSLATE2)
        texts = read_tokenizers(folder, manifest)
        config, sizes, extras = manifest.config, manifest.vocabularies, manifest.extras
        named = {"source": sizes[0], "target": sizes[1]}
        artifact = Artifact(
            config=config, task="translate", sizes=named, tokenizers=texts, extras=extras, name=str(folder)
        )
        pair = subwords_of(artifact)
        self._loaded: tuple[Writer, ...] | None = None
        self.folder, self.model_path = Path(folder), None if model_path is None else Path(model_path)
        super().__init__(
            _Elsewhere(),
            pair.source,
            pair.target,
            strategy or strategy_of(artifact),
            max_source=extras.get("max_source"),
            batch_tokens=batch_tokens,
            alignment=extras.get("alignment"),
            language=source_language_of(artifact),
            split=split_of(artifact),
            keeper=Keeping.between(pair.source, pair.target),
        )
        _check_shortlist(self.folder, manifest.details.get("shortlist"), wanted=shortlist)
        self._room: int = manifest.details["positions"]
        self.attention_shift: int | None = (manifest.details["attention"] or {}).get("shift")
        """the shift of the rows of `attention`; None: the export's heads do not align"""
        ids = {piece: at for at, piece in enumerate(model_pieces(pair.target, sizes[1]))}
        engine = _engine(folder, device, threads or _cores())
        self._searcher = Searcher(engine, ids, batch_tokens, token_scores, shortlist)

    @property
    def models(self) -> tuple[Writer, ...]:
        """The model itself, in torch, if its file is known; loaded on first use."""
        if self._loaded is None:
            if self.model_path is None:
                raise UsageError(
                    f"{self.folder}: an export holds no model that can be looked into; give the model file or its run"
                )
            self._loaded = (load_artifact(self.model_path).model(),)
        return self._loaded

    @models.setter
    def models(self, models: tuple[Writer, ...]) -> None:
        self._loaded = None if isinstance(models[0], _Elsewhere) else models

    def attention(self, pairs: Sequence[Pair]) -> list[NDArray[np.float32]]:
        """The mean weights of the exported heads for each pair, [target tokens + 1, source tokens]."""
        sources = [self._pieces(pair.source_ids, self.source.pieces) for pair in pairs]
        targets = [self._pieces(pair.target_ids, self.target.pieces) for pair in pairs]
        return [np.array(rows, dtype=np.float32) for rows in self._searcher.attention(sources, targets)]

    def _search(self, parts: Sequence[Any], strategy: Strategy) -> list[list[Hypothesis]]:
        for part in parts:
            self._check_length(len(part.ids) + 1)
        pieces = self.source.pieces, list(self._searcher.ids)
        requests = make_requests(
            [part.ids for part in parts], [part.prefix for part in parts], strategy, *pieces, self._room - 1
        )
        return self._searcher.search(requests, strategy)

    def _search_with_terms(self, parts: list[Any], strategy: Strategy) -> list[list[Hypothesis]]:
        """CTranslate2 has no search with constraints: texts with terms are translated by the model itself, in torch."""
        if self.model_path is None:
            raise UsageError(f"{self.folder}: a glossary needs the model itself; give the model file or its run")
        return super()._search_with_terms(parts, strategy)

    def _score_batch(self, pairs: list[tuple[list[int], list[int]]]) -> list[tuple[float, ...]]:
        for source, target in pairs:
            self._check_length(max(len(source), len(target)))
        sources = [self._pieces(_without_end(source), self.source.pieces) for source, _ in pairs]
        targets = [self._pieces(_without_end(target), self.target.pieces) for _, target in pairs]
        return self._searcher.score(sources, targets)

    def _check_length(self, length: int) -> None:
        if length > self._room:
            raise UsageError(f"{self.folder}: a text has {length} tokens, but the export has {self._room} positions")

    @staticmethod
    def _pieces(ids: Sequence[int], pieces: Sequence[str]) -> tuple[str, ...]:
        return tuple(pieces[at] for at in ids)


class _Elsewhere(Transducer):
    """A placeholder for the model that CTranslate2 holds."""

    encode: Any = None
    hidden: Any = None
    start: Any = None
    step: Any = None


def open_ctranslate2(
    path: str | Path, strategy: Strategy | None = None, *, tell: Any = None, **settings: Any
) -> CTranslate2Translator:
    """The translator of an export; for a model file or run, the export beside it, which is made if missing.

    `tell` is called with a sentence when something is made. The settings are those of `CTranslate2Translator`.
    """
    place = Path(path)
    if (place / MANIFEST).is_file():
        return CTranslate2Translator(place, strategy, **settings)
    model = model_file(place)
    return CTranslate2Translator(_export_of(model, tell or _quiet), strategy, model_path=model, **settings)


def _export_of(model: Path, tell: Any) -> Path:
    """The export of this model: beside it or, if that folder is not writable, in the user's cache."""
    made_from = digest(model)
    beside = model.with_suffix(".ct2")
    cached = cache_folder() / f"{made_from}.ct2"
    quantization = "float32"
    for folder in (beside, cached):
        if (folder / MANIFEST).is_file():
            try:
                manifest = read_manifest(folder, CTRANSLATE2)
            except RegardError as error:
                tell(f"{error}, which is done now")
                continue
            if manifest.made_from == made_from:
                return folder
            quantization = manifest.details["quantization"]
    folder = beside if os.access(beside.parent, os.W_OK) else cached
    folder.parent.mkdir(parents=True, exist_ok=True)
    export_ctranslate2(model, folder, quantization, force=True)
    tell(f"exported {model} to {folder} for CTranslate2, {quantization}; the next time it is there already")
    return folder


def _check_shortlist(folder: Path, made: str | None, *, wanted: bool) -> None:
    """Check that the shortlist is there and intact: CTranslate2 reads a damaged one silently, or crashes."""
    if wanted and made is None:
        raise UsageError(
            f"{folder}: has no shortlist; make one with `regard shortlist`, then export again "
            "(subwords with spaces in them cannot be listed for CTranslate2)"
        )
    file = folder / SHORTLIST
    if made != (digest(file) if file.is_file() else None):
        raise RegardError(f"{file}: is not the shortlist of this export; export the model again with --force")


def _engine(folder: str | Path, device: str, threads: int) -> Any:
    kind, _, number = str(device).partition(":")
    try:
        return library().Translator(
            str(folder), device=kind, device_index=int(number or 0), inter_threads=threads, intra_threads=1
        )
    except (RuntimeError, ValueError) as error:
        raise RegardError(f"{folder}: CTranslate2 cannot load it: {error}") from error


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quiet(_: str) -> None:
    """Tells nobody."""


def _without_end(ids: Sequence[int]) -> Sequence[int]:
    return ids[:-1] if len(ids) and ids[-1] == EOS else ids
