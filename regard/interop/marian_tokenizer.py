"""The tokenizer of a Marian folder: `source.spm` and `target.spm` cut texts, `vocab.json` numbers the pieces of both.

Each side gets a tokenizer of its own over the same numbers, so that embeddings can be shared. Pieces that a side's
SentencePiece model does not have are in its vocabulary too, behind a mark that no text has, which decoding takes away.
Pieces that `vocab.json` does not have are `<unk>` there; here each has a number at the end, whose embedding is a copy.
"""

import base64
import binascii
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tokenizers import AddedToken, Regex, decoders, normalizers

from regard.base.errors import RegardError
from regard.base.files import read_bytes, read_text
from regard.data.subwords import assemble
from regard.data.subwords.formats import Sentencepiece, convert_sentencepiece, read_sentencepiece
from regard.data.subwords.tokenizer import SPECIALS, Subwords
from regard.interop.model_folder import TOKENIZER_FILES, read_json

SPM = {"source": "source.spm", "target": "target.spm"}
_TEXTS = ("vocab.json", "target_vocab.json", *TOKENIZER_FILES)
_ENCODED = "base64,"
_MARK = "\U0010fffd"
_UNK = "<unk>"


def read_marian(
    folder: Path,
) -> tuple[dict[str, Subwords], dict[str, list[int | None]], dict[str, str]]:
    """The tokenizer and the order of each side, and the files, those that are no texts in base64."""
    for name in (*SPM.values(), "vocab.json"):
        if not (folder / name).is_file():
            raise RegardError(
                f"{folder}: has no {name}; the tokenizer of Marian is source.spm, target.spm and vocab.json, "
                "or one tokenizer.json"
            )
    separate = (folder / "target_vocab.json").is_file()
    numbers = {
        "source": _numbers(folder / "vocab.json"),
        "target": _numbers(folder / ("target_vocab.json" if separate else "vocab.json")),
    }
    models = {side: read_sentencepiece(folder / name) for side, name in SPM.items()}
    pieces = {
        side: _all_pieces(numbers[side], list(models.values()) if not separate else [models[side]]) for side in SPM
    }
    subwords = {side: _side(models[side], pieces[side], str(folder / SPM[side])) for side in SPM}
    orders = {side: _order(subwords[side], numbers[side], set(pieces[side])) for side in SPM}
    files = {name: read_text(folder / name) for name in _TEXTS if (folder / name).is_file()}
    files |= {name: _ENCODED + base64.b64encode(read_bytes(folder / name)).decode() for name in SPM.values()}
    return subwords, orders, files


def file_content(text: str, where: str) -> bytes:
    """The bytes of a kept file."""
    if not text.startswith(_ENCODED):
        return text.encode()
    try:
        return base64.b64decode(text.removeprefix(_ENCODED), validate=True)
    except binascii.Error as error:
        raise RegardError(f"{where}: the kept file is damaged: {error}") from error


def _numbers(path: Path) -> dict[str, int]:
    found = read_json(path)
    if not found or not all(type(number) is int and number >= 0 for number in found.values()):
        raise RegardError(f"{path}: must give every piece a number")
    if _UNK not in found:
        raise RegardError(f"{path}: has no {_UNK}")
    return found


def _all_pieces(numbers: Mapping[str, int], models: Sequence[Sentencepiece]) -> list[str]:
    """The pieces of a vocabulary in its order, without the special ones, and then those that it has no number for."""
    known = sorted((piece for piece in numbers if piece not in SPECIALS), key=lambda piece: numbers[piece])
    further = (piece for model in models for piece in model.normal if piece not in numbers and piece not in SPECIALS)
    return [*known, *dict.fromkeys(further)]


def _order(subwords: Subwords, numbers: Mapping[str, int], pieces: Collection[str]) -> list[int | None]:
    """The number of each token in `vocab.json`; pieces without one are unknown there."""
    names = [name.removeprefix(_MARK) for name in subwords.pieces]
    return [numbers.get(name, numbers[_UNK] if name in pieces else None) for name in names]


def _side(model: Sentencepiece, pieces: Sequence[str], where: str) -> Subwords:
    """The tokenizer of one side over all pieces."""
    own = model.normal
    codes = [piece for piece in pieces if piece.startswith(">>") and piece.endswith("<<") and piece not in own]
    least = min(own.values(), default=0.0)
    spelled = {*own, *model.whole, *codes}
    names = [piece if piece in spelled else _MARK + piece for piece in pieces]
    tokenizer = convert_sentencepiece(model, {name: own.get(name, least) for name in names}, where)
    hidden = normalizers.Replace(Regex(_MARK), "")
    tokenizer.normalizer = normalizers.Sequence([hidden, tokenizer.normalizer])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(_MARK, ""), assemble.default_decoder(model.prefixed)])
    tokenizer.add_tokens([AddedToken(code, normalized=False) for code in codes])
    return Subwords(tokenizer)
