"""A translator that starts at once: it runs a model that is kept ready, and needs no torch for plain sentences.

translator = open_ready("runs/en-de", whole=lambda: load("runs/en-de"))     # None until the model was used once
translator.translate(["Two dogs play in the snow."])
"""

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from regard.base.errors import RegardError
from regard.data.subwords.tokenizer import EOS, PAD, Subwords
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.layout import Layout, Split, lay_out
from regard.decoding.packed.compiled_search import CompiledSearch, CompiledWriter
from regard.decoding.ready_file import read_ready, ready_place
from regard.decoding.translation import PlaceholderKeeper, Translation, candidate_of, cut_note, joined, on_line
from regard.native.compiled_layers import CompiledStack, SourcePairs
from regard.native.library import Library
from regard.native.stored import restored
from regard.native.structures import LinearWeights, Packer, StackWeights

_MOST = 32
"""sentences at a time; for more of them, all cores are worth the wait for torch"""


@runtime_checkable
class TranslatesTexts(Protocol):
    """A translator."""

    split: Split
    keeper: PlaceholderKeeper | None

    def translate(self, texts: Sequence[str], **how: Any) -> list[Translation]:
        """The translation of each text."""


class ReadyTranslator:
    """Translates a few plain sentences by compiled layers alone, as a `Translator` does, to the last digit.

    Whatever else there is to do is left to the translator that `whole` gives when it is first needed: other strategies,
    alignments, placeholders, long sentences, many of them.
    """

    def __init__(
        self, kind: str, arrays: list[np.ndarray], about: dict[str, Any], whole: Callable[[], TranslatesTexts]
    ) -> None:
        self._kept, self._about, self._whole = arrays, about, whole
        self._opened: TranslatesTexts | None = None
        self.source = Subwords.from_json(about["tokenizers"][0])
        self.target = Subwords.from_json(about["tokenizers"][-1]) if len(about["tokenizers"]) > 1 else self.source
        self.split: Split = about["split"]
        self.keeper: PlaceholderKeeper | None = None
        native = Library(kind)
        self._encoder, decoder = (
            CompiledStack(native, restored(StackWeights, about[name], arrays), Packer(native.lanes))
            for name in ("encoder", "decoder")
        )
        self._read_at, self._written_at = (None if at is None else arrays[at] for at in about["places"])
        self._room = min((len(one) for one in (self._read_at, self._written_at) if one is not None), default=10**6)
        self._writer = CompiledWriter(
            native=native,
            decoder=decoder,
            output=restored(LinearWeights, about["output"], arrays),
            first=about["first"],
            places=lambda count: None if self._written_at is None else self._written_at[:count],
        )

    @property
    def whole(self) -> TranslatesTexts:
        """The translator that does everything."""
        if self._opened is None:
            self._opened = self._whole()
            self._opened.split, self._opened.keeper = self.split, self.keeper
        return self._opened

    def translate(self, texts: Sequence[str], **how: Any) -> list[Translation]:
        """Translate each text; blank texts stay blank. Any setting is for the whole translator."""
        if self._opened is not None or any(how.values()):
            return self.whole.translate(texts, **how)
        layouts = [lay_out(text, self.split, self._about["language"]) for text in texts]
        pieces = [piece for layout in layouts for piece in layout.pieces]
        ids = self.source.encode_batch(pieces)
        marked = self.keeper is not None and any(self.keeper.finds(text) for text in texts)
        if marked or len(pieces) > _MOST or not all(self._fits(one) for one in ids):
            return self.whole.translate(texts)
        found = iter(self._search(ids) if ids else [])
        rows = [self._joined(layout, [next(found) for _ in layout.pieces]) for layout in layouts]
        if any(row is None for row in rows):  # logits are no numbers: what is wrong is said there
            return self.whole.translate(texts)
        return [on_line(row, number) for number, row in enumerate(rows, start=1) if row is not None]

    def _fits(self, ids: Sequence[int]) -> bool:
        longest = self._about["max_source"] or self._room
        return 0 < len(ids) < min(longest, self._room) and self._longest(len(ids) + 1) < self._room

    def _longest(self, read: int) -> int:
        """The most tokens of an output, as `Strategy.rules` has it."""
        search = self._about["search"]
        if search["max_length"] is not None:
            return int(search["max_length"])
        return max(1, int(np.float32(search["max_ratio"]) * np.float32(read)) + search["max_extra"])

    def _search(self, ids: Sequence[Sequence[int]]) -> list[list[Hypothesis]]:
        lengths = np.array([len(one) + 1 for one in ids])
        source = np.full((len(ids), lengths.max()), PAD, np.int64)
        for row, one in zip(source, ids, strict=True):
            row[: len(one) + 1] = [*one, EOS]
        places = None if self._read_at is None else self._read_at[: source.shape[1]]
        encoded, first = self._encoder.encode(source, lengths, len(self.source), places)
        read = SourcePairs(self._writer.decoder.remember(encoded), first, lengths, source.shape[1])
        search = self._about["search"]
        limit = self._about["limit"] or 2**31
        most = np.array([min(self._longest(length), limit - 1) for length in lengths.tolist()])
        how = {name: search[name] for name in ("size", "n_best", "length_penalty")}
        enough = float("inf") if search["enough"] is None else search["enough"]
        return CompiledSearch(self._writer, read, most, np.array(search["suppress"]), enough=enough, **how).run()

    def _joined(self, layout: Layout, found: list[list[Hypothesis]]) -> Translation | None:
        """The translation of a text from what was found for its sentences; None where logits are no numbers."""
        if any(not one or not isfinite(one[0].score) for one in found):
            return None
        parts = []
        for each in found:
            best = [candidate_of(self.target, one) for one in each]
            parts.append(Translation(best[0].text, best[0].score, tuple(best), None, cut_note(each[0])))
        return joined(layout, parts) if parts else Translation(layout.text, 0.0, ())


def open_ready(model: str | Path, whole: Callable[[], TranslatesTexts]) -> ReadyTranslator | None:
    """The translator of a model that is kept ready; None if it is not."""
    place = ready_place(model)
    kept = None if place is None else read_ready(place[0])
    if place is None or kept is None:
        return None
    try:
        return ReadyTranslator(place[1], *kept, whole)
    except (RegardError, KeyError, IndexError, TypeError, ValueError):
        return None
