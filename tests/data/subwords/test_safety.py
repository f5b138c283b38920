"""Tokenizers are judged by their JSON; tests/faults forges more of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from regard.base.errors import RegardError
from regard.data.subwords.safety import check_tokenizer
from regard.data.subwords.tokenizer import Subwords
from tests.data.examples import subwords


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "character"])
def test_our_own_pass(kind: str) -> None:
    check_tokenizer(subwords(kind).to_json(), "a")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda own: own.update(truncation={}), "section 'truncation'"),
        (lambda own: own["model"]["vocab"].update(x=2**31), "ids of its"),
        (lambda own: own["model"]["vocab"].update(x=True), "ids of its"),
        (lambda own: own["model"].update(dropout=0.5), "at random"),
        (lambda own: own["model"].update(merges=["a b c"]), "too many values"),
        (lambda own: own["model"].update(merges=[["zzz", "a"]]), "not in the vocabulary"),
        (lambda own: own["model"].update(unk_token="nothing"), "unknown token 'nothing' is not in the vocabulary"),
        (lambda own: own["added_tokens"][0].update(id=-1), "leaves a gap"),
        (lambda own: own.update(decoder={"type": "Magic"}), "not known"),
        (lambda own: own.update(pre_tokenizer={"type": "FixedLength", "length": 10**9}), "too large"),
        (
            lambda own: own.update(normalizer={"type": "Replace", "pattern": {"Regex": "a" * 9_999}, "content": ""}),
            "too long",
        ),
        (lambda own: own.pop("model"), "cannot|can be read"),
    ],
)
def test_what_is_not_safe_is_refused(change: Callable[[dict[str, Any]], object], sentence: str) -> None:
    content = json.loads(subwords().to_json())
    change(content)
    with pytest.raises(RegardError, match=sentence):
        check_tokenizer(json.dumps(content), "a")


def test_to_a_tokenizer_of_bytes_nothing_is_unknown() -> None:
    content = json.loads(subwords().to_json())
    content["model"]["unk_token"] = ""
    content["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    check_tokenizer(json.dumps(content), "a")
    with pytest.raises(RegardError, match="cannot encode this text: "):
        Subwords.from_json(json.dumps(content)).encode_batch(["語"])


@pytest.mark.parametrize("text", ["", "[]", "5", "[" * 100_000, "{}", '{"model": 5}', '{"model": {"type": "BPE"}}'])
def test_what_is_no_tokenizer_is_refused(text: str) -> None:
    with pytest.raises(RegardError, match="a: not a tokenizer"):
        check_tokenizer(text, "a")
