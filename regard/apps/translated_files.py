"""Files that `regard translate` reads and writes: which argument is the input, documents, and where lines go."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from regard.apps.display import bar, say_next

if TYPE_CHECKING:
    from regard.base.ranks import Ranks
    from regard.decoding.stream import Sink
    from regard.decoding.translation import TranslateTexts
    from regard.markup.placeholders import Kept

_MODEL = ".safetensors"
_BLOCK = 256
"""lines that each rank translates before the results are collected"""


def models_and_input(paths: Sequence[Path]) -> tuple[list[Path], Path | None]:
    """The models, and the file to translate: the last of several paths, if it is a file but no model."""
    *models, last = paths
    if models and last.suffix != _MODEL and not last.is_dir() and (last.exists() or last.suffix):
        return models, last
    return [*models, last], None


def refuse_overwriting(out: Path | None, read: Sequence[Path | None]) -> None:
    """Raise an error if the output would replace a file that is read: the text, or a model."""
    from regard.base.errors import UsageError

    for path in read:
        if out is not None and path is not None and out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out}: is read, and would be lost; give another file after -o")


def is_document(path: Path | None) -> bool:
    """Whether a file is translated as a document, with its markup; other files of text line by line."""
    if path is None or path.suffix.lower() == ".txt":
        return False
    from regard.base.errors import UsageError
    from regard.data.recognize import not_in_lines
    from regard.markup.document_files import has_reader

    if has_reader(path.name):
        return True
    what = not_in_lines(path)
    if what is not None:
        raise UsageError(f"{path}: is {what}, whose lines are no sentences; write its texts into a file, one a line")
    return False


def translate_document(
    path: Path, out: Path | None, translate: "TranslateTexts", linked: "TranslateTexts", kept: "Kept"
) -> None:
    """Translate a document into a file, or to standard output."""
    from regard.base.errors import UsageError
    from regard.base.files import read_bytes, write_bytes
    from regard.markup.document_files import open_document

    if out is None and path.suffix.lower() == ".docx":
        raise UsageError(f"{path}: a Word document is no text for standard output; give -o, such as -o out.docx")
    document = open_document(read_bytes(path), str(path))
    with bar("translating", len(document.passages)) as advance:
        done = document.translated(translate, linked, kept, advance)
    if out is None:
        sys.stdout.buffer.write(done)
        sys.stdout.buffer.flush()
    else:
        write_bytes(out, done)


class FileSink:
    """A file that translated lines are written to."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, text: str, /) -> int:
        """Write a text as UTF-8."""
        return self._file.write(text.encode("utf-8", "surrogatepass"))

    def flush(self) -> None:
        """The file is complete only at its end, so nothing is flushed before."""

    def fileno(self) -> int:
        """The file descriptor."""
        return self._file.fileno()


def check_for_ranks(given: Path | None, document: Path | None, page: bool) -> None:
    """Raise an error if several ranks are to translate what they cannot share: only the lines of a file can be."""
    from regard.base.errors import UsageError
    from regard.base.world import world_size

    if world_size() > 1 and (given is None or document is not None or page):
        raise UsageError(
            "translate: ranks share the lines of a text file, named after the model; translate standard input, "
            "documents and pages in one process"
        )


def write_together(ranks: "Ranks", own: Iterator[str], target: "Sink | None", translate: Any) -> None:
    """Translate this rank's lines, every so-manieth of a file; rank 0 writes those of all ranks in their order."""
    while True:
        block = list(islice(own, _BLOCK))
        done = [text for part in translate(iter(block)) for text in part] if block else []
        parts = ranks.gather(done)
        if not any(parts):
            return
        if target is not None:
            rows = zip_longest(*parts)
            target.write("".join(f"{text}\n" for row in rows for text in row if text is not None))


@contextmanager
def sink(out: Path | None) -> "Iterator[Sink]":
    """Standard output, or a file that gets its name once it is complete."""
    from regard.base.files import replacing

    if out is None:
        yield sys.stdout
    else:
        with replacing(out) as file:
            yield FileSink(file)


def suggest_next(out: Path | None, model: Path) -> None:
    """On a terminal, say what can be done with a model that has written a file."""
    if out is not None:
        say_next(f"regard inspect {model} 'a sentence' shows how one is translated")


def refuse_with_document(path: Path, **options: Any) -> None:
    """Raise an error if an option was given that does not go with a document."""
    from regard.base.errors import UsageError

    for name, value in options.items():
        if value:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag}: cannot be given with a document ({path}), which is translated as a whole")
