"""The tokenizer: from text to subword ids and back.

The first ids are the same in every vocabulary: `<pad>` 0, `<unk>` 1, `<s>` 2, `</s>` 3. They are only ever added by
the program: a text that spells `<s>` is encoded as the characters it is made of.

Encoding normalizes the text (Unicode NFC, any run of white space to one space, none at the ends; U+2581, which marks
the beginnings of words, counts as white space) and then loses nothing: `decode(encode(text)) == normalize(text)` for
every text whose characters are in the vocabulary.
"""

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import index
from typing import Any, SupportsIndex

from tokenizers import AddedToken, Tokenizer

from regard.base.errors import RegardError
from regard.data.subwords.safety import check_tokenizer

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
MASK_NAMES = ("<mask>", "[MASK]")
MARK = "▁"
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese, which put no spaces between words"""
_REMEMBERED = 200_000
_LONGEST_REMEMBERED = 64
_STEPS = ["NFC", "Replace", "Strip"]
_KINDS = {"BPE": "bpe", "Unigram": "unigram", "WordLevel": "word", "WordPiece": "wordpiece"}


@dataclass(frozen=True)
class Piece:
    """A token of a text: its id, the characters [start, end) it came from, and the number of the word it is part of."""

    id: int
    start: int
    end: int
    word: int


class Subwords:
    """A tokenizer with its vocabulary, made by `learn_subwords` or `load_subwords`. It is immutable."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        found = tuple(tokenizer.id_to_token(at) for at in range(len(SPECIALS)))
        if found != SPECIALS:
            raise RegardError(f"subwords: the first ids must be {', '.join(SPECIALS)}, but are {found}")
        # A special that a text spells out is text: without this, the library would turn it into the special token.
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer
        self._memo: dict[str, list[int]] = {}

    def __len__(self) -> int:
        """The vocabulary size, special tokens included."""
        return self.tokenizer.get_vocab_size(with_added_tokens=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Subwords) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def kind(self) -> str:
        """`bpe`, `unigram`, `word`, `character` or, in a loaded file, `wordpiece`."""
        name = _KINDS[self.model["type"]]
        return "character" if name == "bpe" and not self.model["merges"] else name

    @cached_property
    def model(self) -> dict[str, Any]:
        """The vocabulary as the `tokenizer.json` format has it."""
        content: dict[str, Any] = json.loads(self.tokenizer.to_str())["model"]
        return content

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The piece of each id."""
        by_id = {number: piece for piece, number in self.tokenizer.get_vocab(with_added_tokens=True).items()}
        return tuple(by_id.get(at, "") for at in range(len(self)))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the tokenizer."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @cached_property
    def mask(self) -> int | None:
        """The id of the token that stands for a hidden one, `<mask>` or `[MASK]`, if the vocabulary has one."""
        ids = (self.tokenizer.token_to_id(name) for name in MASK_NAMES)
        return next((number for number in ids if number is not None), None)

    def with_mask(self) -> "Subwords":
        """The tokenizer with a mask token, which is added as the last one if there is none."""
        return self if self.mask is not None else self.with_specials([MASK_NAMES[0]])

    def with_specials(self, names: Sequence[str]) -> "Subwords":
        """The tokenizer with further special tokens, which no text is encoded as, at its end."""
        tokenizer = Tokenizer.from_str(self.to_json())
        tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
        return Subwords(tokenizer)

    def with_words(self, names: Sequence[str]) -> "Subwords":
        """The tokenizer with further tokens at its end, which texts may spell, such as the sentinels of T5."""
        tokenizer = Tokenizer.from_str(self.to_json())
        tokenizer.add_tokens([AddedToken(name, normalized=False) for name in names])
        return Subwords(tokenizer)

    def normalize(self, text: str) -> str:
        """The text as encoding sees it, and as decoding gives it back."""
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    def encode(self, text: str) -> list[int]:
        """The ids of a text, without `<s>` and `</s>`."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text; where words are encoded one by one, a cache holds those seen before."""
        if not self.splits_at_spaces:
            return self._encode_rows(texts)
        rows = [words(text) for text in texts]
        wanted = set(chain.from_iterable(rows))
        memo = self._memo
        if len(memo) + len(wanted) > _REMEMBERED:
            memo = self._memo = {}
        missing = [word for word in wanted if word not in memo]
        memo.update(zip(missing, self._encode_rows(missing), strict=True))
        encoded = [list(chain.from_iterable([memo[word] for word in row])) for row in rows]
        for word in missing:
            if len(word) > _LONGEST_REMEMBERED:
                del memo[word]
        return encoded

    def _encode_rows(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        except Exception as error:  # the library has no class of its own for what a vocabulary does not have
            raise RegardError(f"subwords: the tokenizer cannot encode this text: {error}") from error
        return [item.ids for item in encoded]

    @cached_property
    def splits_at_spaces(self) -> bool:
        """Whether a text's ids are the concatenated ids of its words, as in the tokenizers trained here."""
        content = json.loads(self.to_json())
        rules = (content["pre_tokenizer"] or {}).get("pretokenizers") or [{}]
        steps = (content["normalizer"] or {}).get("normalizers") or [{}]
        marks = rules[0].get("type") == "Metaspace" and rules[0].get("prepend_scheme") == "always"
        return marks and rules[0].get("split") is True and [step.get("type") for step in steps] == _STEPS

    def encode_with_offsets(self, text: str) -> list[Piece]:
        """The tokens of a text with their character offsets; words are separated by white space, as in `words`."""
        encoded = self.tokenizer.encode(text, add_special_tokens=False)
        ends = _word_ends(text)
        spans = zip(encoded.ids, encoded.offsets, strict=True)
        # A token that begins with the space before its word belongs to that word: count the words ended at its start.
        return [Piece(id_, start, end, min(bisect_right(ends, start), len(ends) - 1)) for id_, (start, end) in spans]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of some ids; padding, `<s>` and `</s>` are left out, an unknown piece shows as `<unk>`."""
        kept = [number for number in map(index, ids) if number not in (PAD, BOS, EOS)]
        if self.kind == "word" and UNK in kept:
            # An unknown word has lost the space before it along with its letters.
            pieces = [MARK + SPECIALS[UNK] if number == UNK else self.pieces[number] for number in kept]
            return str(self.tokenizer.decoder.decode(pieces))
        return self.tokenizer.decode(kept, skip_special_tokens=False)

    def decode_batch(self, rows: Iterable[Iterable[SupportsIndex]]) -> list[str]:
        """The text of each row of ids."""
        return [self.decode(row) for row in rows]

    def unknowns(self, text: str) -> tuple[str, ...]:
        """The characters of a text (or words, in a word vocabulary) that are not in the vocabulary, each once."""
        text = self.normalize(text)
        lost = [text[piece.start : piece.end].strip() for piece in self.encode_with_offsets(text) if piece.id == UNK]
        return tuple(dict.fromkeys(lost if self.kind == "word" else "".join(lost)))

    def to_json(self) -> str:
        """The tokenizer as JSON text in the `tokenizer.json` format."""
        return self.tokenizer.to_str()

    @classmethod
    def from_json(cls, text: str) -> "Subwords":
        """The tokenizer that `to_json` wrote."""
        return cls(parse_tokenizer(text, "subwords"))


@dataclass(frozen=True)
class SubwordPair:
    """The tokenizers of source and target; the same one when `joint`."""

    source: Subwords
    target: Subwords

    @property
    def joint(self) -> bool:
        """Whether both sides share one vocabulary, so that embeddings can be tied."""
        return self.source is self.target

    @property
    def fingerprint(self) -> str:
        """A hash of both tokenizers."""
        return f"{self.source.fingerprint}-{self.target.fingerprint}"

    def to_json(self) -> str:
        """Both tokenizers as one JSON text; a joint one is written once."""
        source = json.loads(self.source.to_json())
        target = None if self.joint else json.loads(self.target.to_json())
        return json.dumps({"source": source, "target": target}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "SubwordPair":
        """The pair that `to_json` wrote."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RegardError(f"subwords: not JSON that can be read: {str(error)[:200]}") from error
        source = Subwords.from_json(json.dumps(content["source"]))
        target = content["target"]
        return cls(source, source if target is None else Subwords.from_json(json.dumps(target)))


def words(text: str) -> list[str]:
    """The words that `encode_with_offsets` and word alignments count."""
    return text.replace(MARK, " ").split()


def parse_tokenizer(text: str, where: str) -> Tokenizer:
    """Parse the library's tokenizer from JSON, which is checked first."""
    check_tokenizer(text, where)
    try:
        return Tokenizer.from_str(text)
    except Exception as error:  # the library raises bare Exception, whatever is wrong
        raise RegardError(f"{where}: not a tokenizer.json that can be read: {error}") from error


def _word_ends(text: str) -> list[int]:
    ends: list[int] = []
    at = 0
    for word in words(text):
        at = text.index(word, at) + len(word)
        ends.append(at)
    return ends
