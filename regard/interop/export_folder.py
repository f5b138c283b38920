"""The folder of an export: a model for another program, with its tokenizers and settings.

`regard.json` says what the folder is, `tokenizer.json` (or one file a side) has the subwords in the format of the
`tokenizers` library.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.base.errors import RegardError, UsageError
from regard.base.files import digest, read_bytes, read_text, sync_folder, temporary_beside, unwritable
from regard.runs.artifact import Artifact

MANIFEST = "regard.json"
_KIND = "regard export"
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The content of `regard.json`."""

    format: str
    """the program that runs it: ctranslate2 or onnx"""
    made_from: str
    """the hash of the model file"""
    config: Mapping[str, Any]
    vocabularies: tuple[int, int]
    tokenizers: Mapping[str, str]
    """the file of each side's subwords"""
    extras: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    """settings of this format alone"""
    files: Mapping[str, str] = field(default_factory=dict)
    """the hash of every other file; empty in exports of older versions"""


@contextlib.contextmanager
def making(folder: str | Path, *, force: bool = False) -> Iterator[Path]:
    """A temporary folder to fill; it is renamed to `folder` on success and removed otherwise.

    An existing folder is replaced only with `force`, and only if it is an export or empty.
    """
    final = Path(folder).absolute()
    check_free(final, force=force)
    temporary = temporary_beside(final)
    try:
        temporary.mkdir()
        yield temporary
        _sync(temporary)
        check_free(final, force=force)
        _rename(temporary, final)
    except OSError as error:
        raise unwritable(folder, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_free(folder: Path, *, force: bool) -> None:
    """Raise an error if the folder exists and may not be replaced."""
    if not os.path.lexists(folder):
        return
    ours = folder.is_dir() and ((folder / MANIFEST).is_file() or not any(folder.iterdir()))
    if not ours:
        raise UsageError(f"{folder}: is there already and is no export, so it is not replaced; choose another name")
    if not force and any(folder.iterdir()):
        raise UsageError(f"{folder}: is there already; choose another name, or replace it with --force")


def write_manifest(folder: Path, format: str, artifact: Artifact, made_from: str, **details: Any) -> None:  # noqa: A002
    """Write the subwords and `regard.json`, with the hashes of all files there, into the folder of an export."""
    files = _tokenizer_files(artifact.tokenizers)
    for side, name in files.items():
        (folder / name).write_text(artifact.tokenizers[side], encoding="utf-8")
    content = {
        "kind": _KIND,
        "version": _VERSION,
        "format": format,
        "made_from": made_from,
        "config": artifact.config,
        "vocabularies": list(artifact.vocabularies),
        "tokenizers": files,
        "extras": artifact.extras,
        "details": details,
        "files": {path.relative_to(folder).as_posix(): digest(path) for path in sorted(_files(folder))},
    }
    sealed = {**json.loads(json.dumps(content)), "checksum": _checksum(content)}
    text = json.dumps(sealed, ensure_ascii=False, indent=2, sort_keys=True)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def read_manifest(folder: str | Path, format: str) -> Manifest:  # noqa: A002
    """The manifest of an export of this format, whose files are compared with their hashes."""
    place = Path(folder)
    if not (place / MANIFEST).is_file():
        raise RegardError(f"{place}: this folder holds no export; regard export makes one")
    try:
        content = json.loads(read_text(place / MANIFEST))
        if (checksum := content.pop("checksum", None)) is not None and checksum != _checksum(content):
            raise ValueError("its content does not match its checksum")
        found, version, kind = content.pop("format"), content.pop("version"), content.pop("kind")
        source, target = content.pop("vocabularies")
        manifest = Manifest(format=found, vocabularies=(source, target), **content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RegardError(f"{place / MANIFEST}: cannot be read: {error}; export the model again") from error
    if (kind, version) != (_KIND, _VERSION):
        raise RegardError(
            f"{place}: a {kind} of version {version}, but this Regard reads {_KIND}s of version {_VERSION}"
        )
    if found != format:
        raise UsageError(f"{place}: an export for {found}, not for {format}")
    for name, expected in manifest.files.items():
        if digest(place / name) != expected:
            raise RegardError(
                f"{place / name}: is damaged: its content is not what was exported; export the model again"
            )
    return manifest


def read_tokenizers(folder: str | Path, manifest: Manifest) -> dict[str, str]:
    """The subwords of each side, as JSON texts."""
    return {side: read_bytes(Path(folder) / name).decode() for side, name in manifest.tokenizers.items()}


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)


def _tokenizer_files(tokenizers: Mapping[str, str]) -> dict[str, str]:
    if len(set(tokenizers.values())) == 1:
        return dict.fromkeys(tokenizers, "tokenizer.json")
    return {side: f"{side}.tokenizer.json" for side in tokenizers}


def _rename(temporary: Path, final: Path) -> None:
    """Replace the old folder by the new one; on failure the old one stays."""
    if not final.exists():
        temporary.rename(final)
    else:
        aside = temporary_beside(final)
        final.rename(aside)
        try:
            temporary.rename(final)
        except OSError:
            aside.rename(final)
            raise
        shutil.rmtree(aside, ignore_errors=True)
    sync_folder(final.parent)


def _sync(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    sync_folder(folder)
