"""Export of a model to a folder that CTranslate2 runs."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regard.base.errors import UsageError, unknown
from regard.base.files import digest
from regard.data.subwords.tokenizer import EOS, SPECIALS, Subwords
from regard.decoding.opening import shortlist_of, subwords_of
from regard.decoding.shortlist import Shortlist
from regard.interop.ctranslate2_spec import (
    ROOM,
    alignment_heads,
    check_expressible,
    library,
    transformer_spec,
)
from regard.interop.export_folder import making, write_manifest
from regard.runs.artifact import load_artifact
from regard.runs.folder import model_file

CTRANSLATE2 = "ctranslate2"
SHORTLIST = "vmap.txt"
"""CTranslate2's name for it; a line has a source token, a tab, and its translations with spaces between them"""
QUANTIZATIONS = (
    "float32",
    "float16",
    "bfloat16",
    "int16",
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
)
"""quantization of the weights; CTranslate2 converts them on load where a processor lacks the type"""


def export_ctranslate2(
    model: str | Path, out: str | Path, quantization: str = "float32", *, force: bool = False
) -> Path:
    """Export the model of a file or run folder to the folder `out`, and return that folder."""
    if quantization not in QUANTIZATIONS:
        raise UsageError(unknown("--quantize", quantization, QUANTIZATIONS, "kinds"))
    library()
    file = model_file(model)
    artifact = load_artifact(file)
    design = check_expressible(artifact.design(), str(file))
    pair = subwords_of(artifact)
    sizes = artifact.vocabularies
    aligned = alignment_heads(design, artifact.extras)
    vocabularies = tuple(model_pieces(own, size) for own, size in zip((pair.source, pair.target), sizes, strict=True))
    room = max(ROOM, 4 * int(artifact.extras.get("max_source") or 0))
    with making(out, force=force) as folder:
        spec = transformer_spec(artifact.model(), (vocabularies[0], vocabularies[1]), aligned, room)
        spec.validate()
        spec.optimize(quantization)
        spec.save(str(folder))
        if "shortlist" in artifact.extras:
            write_shortlist(folder / SHORTLIST, shortlist_of(artifact), *vocabularies)
        details = {
            "quantization": quantization,
            "positions": spec.decoder.position_encodings.encodings.shape[0],
            "attention": None if aligned is None else aligned._asdict(),
            "shortlist": digest(folder / SHORTLIST) if (folder / SHORTLIST).exists() else None,
        }
        write_manifest(folder, CTRANSLATE2, artifact, digest(file), **details)
    return Path(out)


def model_pieces(subwords: Subwords, size: int) -> list[str]:
    """A name for each id of the model, also for padding ids that no text has."""
    pieces = [piece or f"<unused {at}>" for at, piece in enumerate(subwords.pieces)]
    pieces += [f"<unused {at}>" for at in range(len(pieces), size)]
    if tuple(pieces[: len(SPECIALS)]) != SPECIALS or len(set(pieces)) != len(pieces):
        raise UsageError("ctranslate2: the pieces of the vocabulary must differ from each other, but some are the same")
    return pieces[:size]


def write_shortlist(
    path: Path, shortlist: Shortlist, source_pieces: Sequence[str], target_pieces: Sequence[str]
) -> None:
    """Write the shortlist as CTranslate2 reads it, unless pieces have spaces.

    The words on the line without a source token are always scored: the frequent ones, and those of `</s>`.
    """
    everywhere = np.concatenate([shortlist.frequent, shortlist.translations[EOS]])
    lists = [("", everywhere), *zip(source_pieces, shortlist.translations, strict=True)]
    rows = [[source, *(target_pieces[at] for at in own.tolist())] for source, own in lists if len(own)]
    if rows and not any(separator in piece for row in rows for piece in row for separator in " \t\r\n"):
        lines = (f"{source}\t{' '.join(targets)}\n" for source, *targets in rows)
        path.write_text("".join(lines), encoding="utf-8")
