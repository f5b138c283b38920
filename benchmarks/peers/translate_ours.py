"""Translate with Regard. The arguments: a model, the sentences, and settings of `regard.load` as JSON."""

import json
import sys

from translating import Sentences, contest

import regard
from regard.decoding.strategies.beam import Beam

translator = regard.load(sys.argv[1], **json.loads(sys.argv[3] if len(sys.argv) > 3 else "{}"))


def translate(sentences: Sentences, beam: int, setting: None) -> list[list[int]]:
    """Its own way from texts to texts, subwords and all."""
    found = translator.translate(sentences.texts, strategy=Beam(size=beam))
    return [list(one.n_best[0].tokens) if one.n_best else [] for one in found]


if __name__ == "__main__":
    contest(translate, [None], [None])
