"""Translate with CTranslate2. The arguments: an exported model, the sentences, and the type of its weights."""

import functools
import os
import sys

import ctranslate2
from translating import Sentences, contest, longest_for

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def translator(workers: int, threads: int) -> ctranslate2.Translator:
    """The model, run by so many workers of so many threads each."""
    kind = sys.argv[3]
    return ctranslate2.Translator(sys.argv[1], compute_type=kind, inter_threads=workers, intra_threads=threads)


def translate(sentences: Sentences, beam: int, setting: tuple[int, int, int]) -> list[list[str]]:
    """Pieces to pieces; the library sorts and cuts the batches itself."""
    workers, threads, tokens = setting
    found = translator(workers, threads).translate_batch(
        sentences.pieces,
        beam_size=beam,
        max_batch_size=tokens,
        batch_type="tokens",
        max_decoding_length=longest_for(sentences.ids),
    )
    return [one.hypotheses[0] for one in found]


if __name__ == "__main__":
    ways = [(CORES, 1), (1, CORES)] if CORES > 1 else [(1, 1)]
    translator(*ways[0])
    many = [(*way, tokens) for way in ways for tokens in (256, 1024, 4096)]
    contest(translate, many, [(1, threads, 1024) for threads in sorted({1, CORES})])
