"""What translating drivers share: the sentences, the turns, the choice of the fastest setting."""

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import serve

PAD, UNK, BOS, EOS = 0, 1, 2, 3


@dataclass(frozen=True)
class Sentences:
    """The same sentences as texts, as ids that end in </s>, and as pieces without it."""

    texts: list[str]
    ids: list[list[int]]
    pieces: list[list[str]]

    def some(self, chosen: Sequence[int]) -> "Sentences":
        """Those at some places."""
        return Sentences(*([side[at] for at in chosen] for side in (self.texts, self.ids, self.pieces)))

    def __len__(self) -> int:
        return len(self.texts)


Translate = Callable[[Sentences, int, Any], list[list[Any]]]
"""from sentences, a beam size and a setting to the tokens of each, as ids or pieces, without </s>"""


def contest(translate: Translate, throughput: Sequence[Any], latency: Sequence[Any], tried: int = 400) -> None:
    """Answer requests. The settings are what may be chosen for many sentences at once, and for one alone.

    They are tried on so many sentences.
    """
    sentences = Sentences(**json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
    best: dict[tuple[str, int], Any] = {}

    def tune(beam: int) -> dict[str, Any]:
        """Try all settings, keep the fastest."""
        sample = sentences.some(range(min(tried, len(sentences))))
        few = [sample.some([at]) for at in range(min(12, len(sample)))]
        best["many", beam] = fastest(throughput, lambda setting: translate(sample, beam, setting))
        best["one", beam] = fastest(latency, lambda setting: [translate(one, beam, setting) for one in few])
        return {"many": best["many", beam], "one": best["one", beam]}

    def many(beam: int, count: int) -> dict[str, Any]:
        """All sentences at once."""
        some = sentences.some(range(count))
        began, worked = time.perf_counter(), time.process_time()
        outputs = translate(some, beam, best["many", beam])
        took = {"seconds": time.perf_counter() - began, "worked": time.process_time() - worked}
        return {**took, "tokens": sum(len(output) + 1 for output in outputs), "outputs": outputs}

    def one(beam: int, first: int, count: int) -> dict[str, Any]:
        """One sentence after the other."""
        times = []
        for at in range(first, first + count):
            alone = sentences.some([at % len(sentences)])
            began = time.perf_counter()
            translate(alone, beam, best["one", beam])
            times.append(time.perf_counter() - began)
        return {"times": times}

    serve(tune=tune, many=many, one=one)


def fastest(settings: Sequence[Any], run: Callable[[Any], Any]) -> Any:
    """The setting with which it takes the least time."""
    if len(settings) == 1:
        run(settings[0])
        return settings[0]
    times: list[float] = []
    for setting in settings:
        took = _seconds(run, setting)  # the first time pays for what is made once
        again = not times or took < 2 * min(times)
        times.append(_seconds(run, setting) if again else took)
    return settings[times.index(min(times))]


def _seconds(run: Callable[[Any], Any], setting: Any) -> float:
    began = time.perf_counter()
    run(setting)
    return time.perf_counter() - began


def in_groups(sentences: Sentences, size: int, run: Callable[[list[list[int]]], list[list[int]]]) -> list[list[int]]:
    """The outputs of sentences that are translated `size` at a time, those of like length together."""
    order = sorted(range(len(sentences)), key=lambda at: -len(sentences.ids[at]))
    outputs: list[list[int]] = [[] for _ in order]
    for first in range(0, len(order), size):
        chosen = order[first : first + size]
        for at, output in zip(chosen, run([sentences.ids[at] for at in chosen]), strict=True):
            outputs[at] = output
    return outputs


def trimmed(row: Sequence[int]) -> list[int]:
    """The tokens before </s>."""
    kept: list[int] = []
    for token in row:
        if token == EOS:
            break
        if token != PAD:
            kept.append(token)
    return kept


def longest_for(ids: list[list[int]]) -> int:
    """How long outputs may be: twice the source and 20 more, as ours."""
    return 2 * max(map(len, ids)) + 20
