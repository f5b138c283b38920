"""Build a tokenizer from subword pieces: the pipeline that trained and converted vocabularies share.

NFC, white space -> split at spaces (marked ▁) and around punctuation -> pieces -> text
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from regard.data.subwords.tokenizer import MARK, SPECIALS, UNK

BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# Python's white space, so that a word is the same thing in every part of the program; U+3000 is the last of it.
SPACES = "".join(character for character in map(chr, range(0x3001)) if character.isspace())
# No piece may span a special token's name, or a text that spells it would become that token.
_GUARD = r"<(?=(?:pad|unk|s|/s|0x[0-9A-F]{2})>)"
# What `pre_tokenizers.Punctuation` takes for punctuation, but for the one that is part of names.
_MARKS = r"[\p{P}$+<=>^`|~&&[^_]]"


def guard() -> Any:
    """The rule that keeps a text which spells a special token from being encoded as that token."""
    return pre_tokenizers.Split(Regex(_GUARD), "merged_with_previous")


def default_normalizer() -> Any:
    """NFC, and any run of white space to one space, with none at the ends."""
    spaces = normalizers.Replace(Regex(f"[{SPACES}{MARK}]+"), " ")
    return normalizers.Sequence([normalizers.NFC(), spaces, normalizers.Strip()])


def default_splitter(model: Any) -> Any:
    """Words keep the space before them as a mark; punctuation is split off, so that `dog.` needs no piece of its own.

    Where pieces are words, each punctuation mark is one, except for `_`, which joins words to one, as in `I_TURN_LEFT`;
    otherwise a run such as `...` may become a piece.
    """
    words = isinstance(model, models.WordLevel)
    marked = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=True)
    marks = pre_tokenizers.Split(Regex(_MARKS), "isolated") if words else pre_tokenizers.Punctuation("contiguous")
    return pre_tokenizers.Sequence([marked, marks, guard()])


def tag_splitter() -> Any:
    """As `default_splitter`, but a punctuation mark stays with what follows it: `V;PST` is `▁V` and `;PST`."""
    marked = pre_tokenizers.Metaspace(replacement=MARK, prepend_scheme="always", split=True)
    return pre_tokenizers.Sequence([marked, pre_tokenizers.Split(Regex(_MARKS), "merged_with_next"), guard()])


def default_decoder(prefixed: bool = True) -> Any:
    """Pieces to text: bytes to characters, marks to spaces."""
    marks = decoders.Metaspace(replacement=MARK, prepend_scheme="always" if prefixed else "never")
    return decoders.Sequence([decoders.ByteFallback(), marks])


def blank(model: Any) -> Tokenizer:
    """A tokenizer with our pipeline around a model."""
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = default_normalizer()
    tagged = isinstance(model, models.BPE) and model.ignore_merges
    tokenizer.pre_tokenizer = tag_splitter() if tagged else default_splitter(model)
    tokenizer.decoder = default_decoder()
    return tokenizer


def number(pieces: Sequence[str]) -> dict[str, int]:
    """Ids for some pieces, the special tokens first."""
    return {piece: at for at, piece in enumerate([*SPECIALS, *pieces])}


def bpe(
    pieces: Sequence[str], merges: Sequence[tuple[str, str]], *, byte_fallback: bool, fuse_unknown: bool = False
) -> Any:
    """A byte-pair encoding (BPE) model; without merges it encodes characters."""
    vocabulary = number([*(BYTES if byte_fallback else ()), *pieces])
    return models.BPE(
        vocabulary, list(merges), unk_token=SPECIALS[UNK], byte_fallback=byte_fallback, fuse_unk=fuse_unknown
    )


def tagged_characters(alphabet: Sequence[str], tags: Sequence[str], *, byte_fallback: bool) -> Any:
    """A model of characters in which whole tags are pieces too."""
    vocabulary = number([*(BYTES if byte_fallback else ()), *alphabet, *tags])
    return models.BPE(vocabulary, [], unk_token=SPECIALS[UNK], byte_fallback=byte_fallback, ignore_merges=True)


def unigram(scores: Mapping[str, float], *, byte_fallback: bool) -> Any:
    """A unigram model: the log-probability of each piece; special tokens are never matched."""
    fixed = [(piece, 0.0) for piece in (*SPECIALS, *(BYTES if byte_fallback else ()))]
    return models.Unigram([*fixed, *scores.items()], unk_id=UNK, byte_fallback=byte_fallback)


def word_level(pieces: Sequence[str]) -> Any:
    """A model whose pieces are whole words."""
    return models.WordLevel(number(pieces), unk_token=SPECIALS[UNK])


def declare_specials(tokenizer: Tokenizer) -> Tokenizer:
    """Declare the special tokens, so that other programs that read the file know them."""
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    return tokenizer


def content(tokenizer: Tokenizer) -> dict[str, Any]:
    """The tokenizer as the `tokenizer.json` format has it."""
    loaded: dict[str, Any] = json.loads(tokenizer.to_str())
    return loaded
