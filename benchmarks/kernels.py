"""Decoding with the compiled kernels, without, and by CTranslate2: processor time of one thread, in turns.

    python benchmarks/kernels.py runs/en-de test.en [--sentences 200] [--alone 15] [--rounds 5] [--only float32]

Without the kernels everything is computed by torch, as where there is no compiler; `--no-torch` leaves that out.
CTranslate2 has the same weights, in int8 where ours has int8, and the batch size that is fastest for it; it is handed
subwords and gives subwords, where ours takes texts and gives texts. Before every turn that counts, each has one that
does not. The shortlist is that of the model, if `regard shortlist` made one; CTranslate2 is given it too in the rows of
"int8, both with shortlist", for all sentences of a batch together.
"""

import argparse
import gzip
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ctranslate2
import torch
from measure import machine, print_table, quartiles, spread

import regard
from regard.decoding import topk
from regard.decoding.packed import layer, recognized
from regard.decoding.strategies.beam import Beam
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.native.kernels import Kernels, kernels

Work = Callable[[], list[Any]]
Library = Callable[[int, int, list[list[str]]], list[Any]]
"""what CTranslate2 makes of subwords with this beam and so many tokens in a batch"""
SETTINGS: dict[str, tuple[dict[str, Any], str, bool]] = {
    "float32": ({}, "float32", False),
    "int8": ({"precision": "int8"}, "int8", False),
    "int8, shortlist": ({"precision": "int8", "shortlist": True}, "int8", False),
    "int8, both with shortlist": ({"precision": "int8", "shortlist": True}, "int8", True),
}
"""how ours is loaded, the weights of CTranslate2, and whether it has the shortlist too"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("texts", type=Path)
    parser.add_argument("--sentences", type=int, default=200, help="how many are translated together")
    parser.add_argument("--alone", type=int, default=15, help="how many are translated one by one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--no-torch", action="store_true", help="leave out our search without the kernels")
    options = parser.parse_args()
    torch.set_num_threads(1)
    made = kernels()
    if made is None:
        raise SystemExit("there are no kernels here: no C compiler, or REGARD_NATIVE=0")
    opened = gzip.open if options.texts.suffix == ".gz" else open
    with opened(options.texts, "rt", encoding="utf-8") as file:
        texts = [line.strip() for line in file][: options.sentences]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            settings, kind, listed = SETTINGS[name]
            place = Path(folder) / kind
            if not place.exists():
                export_ctranslate2(options.model, place, kind)
            other = ctranslate2.Translator(str(place), compute_type=kind, inter_threads=1, intra_threads=1)
            try:
                ours = regard.load(options.model, engine="torch", **settings)
            except regard.RegardError as error:
                print(error)
                continue
            rows += contest(name, ours, partial(by_library, other, listed), texts, made, options)
    print(f"{machine()}, kernels for {made.kind}, CTranslate2 {ctranslate2.__version__}")
    print_table("Compiled kernels", rows)


def contest(
    name: str, ours: Any, other: Library, texts: list[str], made: Kernels, options: argparse.Namespace
) -> list[dict[str, str]]:
    """A row for all sentences together and one for some of them alone, at both beams."""
    pieces = [[ours.source.pieces[at] for at in ours.source.encode(text)] for text in texts]
    few, parts = texts[: options.alone], pieces[: options.alone]
    rows = []
    for beam in (1, 5):
        search = partial(ours.translate, strategy=Beam(size=beam))
        theirs = partial(other, beam, fastest(other, beam, pieces))
        how = made, options.rounds, not options.no_torch
        rows.append(row(f"together, beam {beam}, {name}", partial(search, texts), partial(theirs, pieces), *how))
        rows.append(
            row(f"alone, beam {beam}, {name}", partial(apart, search, few), partial(apart, theirs, parts), *how)
        )
    return rows


def fastest(library: Library, beam: int, pieces: list[list[str]]) -> int:
    """The batch size, in tokens, with which CTranslate2 takes the least time."""
    times = {}
    for tokens in (256, 1024, 2048, 4096):
        library(beam, tokens, pieces)
        began = time.process_time()
        library(beam, tokens, pieces)
        times[tokens] = time.process_time() - began
    return min(times, key=lambda tokens: times[tokens])


def by_library(library: Any, listed: bool, beam: int, tokens: int, pieces: list[list[str]]) -> list[Any]:
    """What CTranslate2 makes of subwords; outputs may be as long as ours."""
    longest = 2 * (max(map(len, pieces)) + 1) + 20
    how = {"beam_size": beam, "max_decoding_length": longest, "max_batch_size": tokens, "batch_type": "tokens"}
    how["use_vmap"] = listed
    found: list[Any] = library.translate_batch(pieces, **how)
    return found


def apart(search: Callable[[list[Any]], list[Any]], texts: list[Any]) -> list[Any]:
    """Each text translated by itself."""
    return [search([text])[0] for text in texts]


def row(name: str, ours: Work, theirs: Work, made: Kernels, rounds: int, by_torch: bool) -> dict[str, str]:
    """What the kernels save, whether they change anything, and how they stand beside CTranslate2."""
    contestants = {**({"torch": ours} if by_torch else {}), "kernels": ours, "CTranslate2": theirs}
    times: dict[str, list[float]] = {contestant: [] for contestant in contestants}
    found: dict[str, list[Any]] = {}
    names = list(contestants)
    for at in range(rounds + 1):
        for contestant in names[at % len(names) :] + names[: at % len(names)]:
            native = made if contestant == "kernels" else None
            topk.kernels = layer.kernels = recognized.kernels = lambda native=native: native
            contestants[contestant]()  # everybody starts warm; ours packs the weights, once for a model
            began = time.process_time()
            found[contestant] = contestants[contestant]()
            if at:
                times[contestant].append(time.process_time() - began)
    count = len(found["kernels"])
    middle = {contestant: quartiles(spent)[0] / count * 1e3 for contestant, spent in times.items()}

    def ratio(contestant: str) -> str:
        each = zip(times[contestant], times["kernels"], strict=True)
        return f"{spread(quartiles([its / own for its, own in each]), 2)} ×"

    made_row = {
        "sentences": f"{count} {name}",
        **{contestant: f"{spent:.2f} ms each" for contestant, spent in middle.items()},
        "than CTranslate2": ratio("CTranslate2"),
    }
    if by_torch:
        pairs = list(zip(found["kernels"], found["torch"], strict=True))
        made_row |= {
            "than torch": ratio("torch"),
            "other texts than torch": str(sum(a.text != b.text for a, b in pairs)),
            "scores differ by": f"{max(abs(a.score - b.score) for a, b in pairs):.1e}",
        }
    return made_row


if __name__ == "__main__":
    main()
