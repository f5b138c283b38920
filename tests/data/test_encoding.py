"""Several processes encode text as one does, in order."""

import io
import json

import numpy as np
import pytest

from regard.base.errors import RegardError
from regard.data import encoding
from regard.data.encoding import encode_rows, encoded_in_order, serve_encoding
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import EOS

TEXTS = ["a cat sat", "the dog sees the cat", "ß ünï\u2028code", "a", "dogs and cats"]
SUBWORDS = learn_subwords(TEXTS, SubwordSettings(size=40))
BATCHES = [[(text, text[::-1]) for text in TEXTS[at:]] for at in range(5)] * 2


def test_two_processes_encode_as_one_does_in_order() -> None:
    expected = [encode_rows(batch, (SUBWORDS, SUBWORDS)) for batch in BATCHES]
    found = list(encoded_in_order(iter(BATCHES), (SUBWORDS, SUBWORDS), 2))
    assert len(found) == len(expected)
    for one, other in zip(expected, found, strict=True):
        for side, same in zip(one, other, strict=True):
            assert all(np.array_equal(*arrays) for arrays in zip(side, same, strict=True))
    flat, lengths = expected[0][0]
    assert flat[lengths[0] - 1] == EOS
    assert flat[: lengths[0] - 1].tolist() == SUBWORDS.encode(TEXTS[0])


def test_a_worker_ends_with_its_input() -> None:
    def framed(value: object) -> bytes:
        data = json.dumps(value).encode()
        return len(data).to_bytes(8, "little") + data

    written = io.BytesIO()
    serve_encoding(io.BytesIO(framed(["one", [SUBWORDS.to_json()]]) + framed([["a cat"]])), written)
    flat, lengths = encode_rows([("a cat",)], (SUBWORDS,))[0]
    size = 8 + flat.nbytes
    assert written.getvalue()[8:size] == flat.tobytes()
    assert written.getvalue()[size + 8 :] == lengths.tobytes()


def test_a_worker_that_dies_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding.sys, "executable", "/bin/true")
    with pytest.raises(RegardError, match="a process that encodes the text ended early"):
        list(encoded_in_order(iter(BATCHES), (SUBWORDS, SUBWORDS), 2))
