"""Import of other programs' tokenizers: `tokenizer.json` and SentencePiece `.model` files.

Ids change on the way in (`<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3, then the file's pieces in their order); pieces,
scores, merges and normalization stay. No SentencePiece library is needed: its file is a small protobuf message.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers

from regard.base.errors import RegardError
from regard.base.files import read_bytes
from regard.data.subwords import assemble
from regard.data.subwords.tokenizer import MARK, SPECIALS, UNK, Subwords, parse_tokenizer

_ALIASES = {
    "[PAD]": "<pad>",
    "[UNK]": "<unk>",
    "[CLS]": "<s>",
    "<bos>": "<s>",
    "[SEP]": "</s>",
    "<eos>": "</s>",
    "<|endoftext|>": "</s>",
}
_NORMAL, _USER = 1, 4
_UNIGRAM, _BPE = 1, 2


def load_subwords(path: str | Path) -> Subwords:
    """Load the tokenizer of a `tokenizer.json` or a SentencePiece model, told apart by their content."""
    data = read_bytes(path)
    if data.lstrip()[:1] == b"{":
        return Subwords(_adopt(data, str(path)))
    model = _parsed(data, f"{path}: neither a tokenizer.json nor a SentencePiece model")
    return Subwords(convert_sentencepiece(model, model.normal, str(path)))


def read_sentencepiece(path: str | Path) -> "Sentencepiece":
    """The parts of a SentencePiece model."""
    return _parsed(read_bytes(path), f"{path}: not a SentencePiece model")


def _parsed(data: bytes, otherwise: str) -> "Sentencepiece":
    try:
        return _parse(data)
    except (ValueError, IndexError, struct.error) as error:
        raise RegardError(otherwise) from error


def original_ids(text: str, subwords: Subwords) -> list[int | None]:
    """The id that each token of an adopted `tokenizer.json` has there; None where it has none."""
    content = json.loads(text)
    model = content["model"]
    pieces = enumerate(piece for piece, _ in model["vocab"]) if model["type"] == "Unigram" else ()
    ids = {piece: at for at, piece in pieces} or dict(model["vocab"])
    ids |= {token["content"]: token["id"] for token in content.get("added_tokens") or []}
    known = {**_ALIASES, **{special: special for special in SPECIALS}, model.get("unk_token"): "<unk>"}
    specials: dict[str, int] = {}
    for piece, number in ids.items():
        if piece in known and (piece == known[piece] or known[piece] not in specials):
            specials[known[piece]] = number
    rest = subwords.pieces[len(SPECIALS) :]
    return [*(specials.get(name) for name in SPECIALS), *(ids.get(piece) for piece in rest)]


def _adopt(data: bytes, where: str) -> Tokenizer:
    try:
        content: dict[str, Any] = json.loads(data)
        model, added = content["model"], content.get("added_tokens") or []
        known = {**_ALIASES, **{special: special for special in SPECIALS}, model.get("unk_token"): "<unk>"}
        _renumber(model, known)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RegardError(f"{where}: not a tokenizer.json that can be read: {error!r}") from error
    others = [token for token in added if token["content"] not in known]
    content.update(added_tokens=[], post_processor=None, truncation=None, padding=None)
    tokenizer = parse_tokenizer(json.dumps(content), where)
    rules = [tokenizer.pre_tokenizer] if tokenizer.pre_tokenizer is not None else []
    if content["pre_tokenizer"] is None or "pad|unk|s|/s" not in json.dumps(content["pre_tokenizer"]):
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*rules, assemble.guard()])
    assemble.declare_specials(tokenizer)
    tokenizer.add_tokens([AddedToken(token["content"], normalized=token["normalized"]) for token in others])
    return tokenizer


def _renumber(model: dict[str, Any], known: dict[str, str]) -> None:
    """Put the special tokens first, in place of what the file called them."""
    if model["type"] == "Unigram":
        unknown = model["vocab"][model["unk_id"]][0] if model.get("unk_id") is not None else None
        pieces = [(piece, score) for piece, score in model["vocab"] if piece not in known and piece != unknown]
        model.update(vocab=[*((special, 0.0) for special in SPECIALS), *pieces], unk_id=UNK)
        return
    ordered = sorted(model["vocab"], key=lambda piece: model["vocab"][piece])
    model["vocab"] = assemble.number([piece for piece in ordered if piece not in known])
    model["unk_token"] = SPECIALS[UNK]


@dataclass
class Sentencepiece:
    """What encoding needs of a SentencePiece model."""

    pieces: list[tuple[str, float, int]] = field(default_factory=list)
    kind: int = _UNIGRAM
    byte_fallback: bool = False
    charsmap: bytes = b""
    prefixed: bool = True
    squeezed: bool = True

    @property
    def normal(self) -> dict[str, float]:
        """The score of each piece that texts are cut into."""
        return {piece: score for piece, score, kind in self.pieces if kind == _NORMAL}

    @property
    def whole(self) -> list[str]:
        """The pieces that a text is never cut inside (user-defined symbols)."""
        return [piece for piece, _, kind in self.pieces if kind == _USER]


def convert_sentencepiece(model: Sentencepiece, scores: dict[str, float], where: str) -> Tokenizer:
    """The model as a tokenizer whose pieces have these scores; they are numbered in this order."""
    if model.kind == _UNIGRAM:
        inner = assemble.unigram(scores, byte_fallback=model.byte_fallback)
    elif model.kind == _BPE:
        merges = _merges({piece: score for piece, score in model.normal.items() if piece in scores})
        inner = assemble.bpe(list(scores), merges, byte_fallback=model.byte_fallback, fuse_unknown=True)
    else:
        raise RegardError(f"{where}: SentencePiece models of kind unigram and bpe are read, not word or char")
    tokenizer = assemble.blank(inner)
    steps: list[Any] = [normalizers.Precompiled(model.charsmap)] if model.charsmap else []
    if model.squeezed:
        steps += [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    tokenizer.normalizer = normalizers.Sequence(steps)
    scheme = "always" if model.prefixed else "never"
    marked = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme=scheme, split=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([marked, assemble.guard()])
    tokenizer.decoder = assemble.default_decoder(model.prefixed)
    assemble.declare_specials(tokenizer)
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in model.whole])
    return tokenizer


def _merges(scores: dict[str, float]) -> list[tuple[str, str]]:
    """The merges of a BPE vocabulary: every way to make a piece of two, in the order the pieces were learned."""
    rank = {piece: at for at, piece in enumerate(scores)}
    merges = []
    for piece in sorted(scores, key=lambda piece: -scores[piece]):
        halves = ((piece[:at], piece[at:]) for at in range(1, len(piece)))
        known = [(left, right) for left, right in halves if left in rank and right in rank]
        merges += sorted(known, key=lambda pair: (rank[pair[0]], rank[pair[1]]))
    return merges


def _parse(data: bytes) -> Sentencepiece:
    """The parts of SentencePiece's ModelProto that encoding needs, by the field numbers of its published schema."""
    model = Sentencepiece()
    for number, value in _fields(data):
        if number == 1:
            piece = dict(_fields(value))
            score = struct.unpack("<f", piece.get(2, bytes(4)))[0]
            model.pieces.append((piece[1].decode(), score, piece.get(3, _NORMAL)))
        elif number == 2:
            trainer = dict(_fields(value))
            model.kind, model.byte_fallback = trainer.get(3, _UNIGRAM), bool(trainer.get(35, 0))
        elif number == 3:
            rules = dict(_fields(value))
            model.charsmap = rules.get(2, b"")
            model.prefixed, model.squeezed = bool(rules.get(3, 1)), bool(rules.get(4, 1))
    if not model.pieces:
        raise ValueError("no pieces")
    return model


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers as int, everything else as the bytes it is written in."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(data, at)
            case 5:
                size = 4
            case _:
                raise ValueError("unknown wire type")
        if at + size > len(data):
            raise ValueError("cut off")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at
