"""Checks of a tokenizer's JSON before the library reads it: a forged one can crash it, hang it, or eat all memory."""

import json
from typing import Any

from regard.base.errors import RegardError

_MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_STEPS = {
    "normalizer": (
        "Sequence BertNormalizer Strip StripAccents NFC NFD NFKC NFKD Lowercase Nmt Precompiled Replace Prepend "
        "ByteLevel"
    ),
    "pre_tokenizer": (
        "Sequence BertPreTokenizer ByteLevel CharDelimiterSplit Metaspace Whitespace Split Punctuation "
        "WhitespaceSplit Digits UnicodeScripts FixedLength"
    ),
    "post_processor": "Sequence RobertaProcessing BertProcessing ByteLevel TemplateProcessing",
    "decoder": "Sequence BPEDecoder ByteLevel WordPiece Metaspace CTC Replace Fuse Strip ByteFallback",
}
_LONGEST_PATTERN = 2_000
_MOST_STEPS = 64
_MOST_CHARACTERS = 2**16  # of a number that counts characters


def check_tokenizer(text: str, where: str) -> None:
    """Raise an error if a text is no tokenizer.json that is safe to read and to use.

    Ids must be dense, merges must join pieces of the vocabulary, texts must not be cut off, filled up or dropped at
    random, and every step must be of a known kind.
    """
    try:
        content = json.loads(text)
        wrong = _wrong(content)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise RegardError(f"{where}: not a tokenizer.json that can be read: {str(error)[:200]}") from error
    if wrong:
        raise RegardError(f"{where}: not a tokenizer.json that can be used: {wrong}")


def _wrong(content: dict[str, Any]) -> str | None:
    for section in ("truncation", "padding"):
        if content.get(section) is not None:
            return f"it has a section '{section}', which would change texts"
    model = content["model"]
    if model.get("type") not in _MODELS:
        return f"the model must be one of {', '.join(_MODELS)}, but is {model.get('type')!r}"
    return (
        _wrong_vocabulary(model)
        or _wrong_merges(model)
        or _wrong_unknown(content)
        or _wrong_added(content.get("added_tokens") or [], len(model["vocab"]))
        or next((wrong for part in _STEPS if (wrong := _wrong_steps(content.get(part), part))), None)
    )


def _wrong_vocabulary(model: dict[str, Any]) -> str | None:
    vocabulary = model["vocab"]
    if model["type"] == "Unigram":
        pieces = [piece for piece, score in vocabulary if isinstance(piece, str) and _is_number(score)]
        if len(pieces) != len(vocabulary) or not 0 <= (model.get("unk_id") or 0) < max(1, len(vocabulary)):
            return "its vocabulary must be pieces with scores, and its unknown piece one of them"
        return None
    ids = sorted(vocabulary.values()) if all(type(at) is int for at in vocabulary.values()) else None
    if ids != list(range(len(vocabulary))):
        return f"the ids of its {len(vocabulary)} pieces must be the numbers from 0 on, each once"
    if model.get("dropout"):
        return "its merges are dropped at random"
    counted = model.get("max_input_chars_per_word", 1)
    return None if type(counted) is int and 0 <= counted <= _MOST_CHARACTERS else "its words may be too long"


def _wrong_merges(model: dict[str, Any]) -> str | None:
    vocabulary = model["vocab"]
    for merge in model.get("merges") or []:
        first, second = merge.split(" ") if isinstance(merge, str) else merge
        prefix = model.get("continuing_subword_prefix") or ""
        if first not in vocabulary or second not in vocabulary or first + second[len(prefix) :] not in vocabulary:
            return f"a merge joins {first!r} and {second!r}, of which a piece is not in the vocabulary"
    return None


def _wrong_unknown(content: dict[str, Any]) -> str | None:
    """What is unknown must have a token to stand for it; to those who read bytes, nothing is unknown."""
    model = content["model"]
    unknown = model.get("unk_token")
    if model["type"] == "Unigram" or unknown is None or unknown in model["vocab"]:
        return None
    steps = json.dumps([content.get("normalizer"), content.get("pre_tokenizer")])
    return None if '"ByteLevel"' in steps else f"its unknown token {unknown!r} is not in the vocabulary"


def _wrong_added(added: list[Any], size: int) -> str | None:
    for token in added:
        if type(token["id"]) is not int or not isinstance(token["content"], str) or not token["content"]:
            return "an added token has no id or no content"
    if any(not 0 <= token["id"] < size + len(added) for token in added):
        return "the id of an added token leaves a gap"
    return None


def _wrong_steps(step: Any, part: str, seen: int = 0) -> str | None:
    if step is None:
        return None
    if step["type"] not in _STEPS[part].split():
        return f"its {part} has a step {step['type']!r}, which is not known"
    pattern = step.get("pattern")
    texts = [*pattern.values()] if isinstance(pattern, dict) else []
    if any(len(text) > _LONGEST_PATTERN for text in texts) or len(str(step.get("content", ""))) > _LONGEST_PATTERN:
        return f"its {part} has a pattern that is too long"
    if any(type(number) is int and number > _MOST_CHARACTERS for number in step.values()):
        return f"its {part} has a number that is too large"
    inner = [one for key in ("normalizers", "pretokenizers", "processors", "decoders") for one in step.get(key) or []]
    if seen + len(inner) > _MOST_STEPS:
        return f"its {part} has too many steps"
    return next((wrong for one in inner if (wrong := _wrong_steps(one, part, seen + len(inner)))), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= 1e9
