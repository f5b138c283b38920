"""Links by eflomal, and a plain sentence where it is not installed."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from regard.alignment import eflomal
from regard.alignment.symmetrizing import intersection
from regard.base.errors import RegardError
from regard.data.corpus import open_corpus
from regard.data.links import Link, parse_links

ENGLISH = ("a red house", "a green house", "the red car", "the green car", "a car", "the house") * 40
GERMAN = ("ein rotes haus", "ein grünes haus", "das rote auto", "das grüne auto", "ein auto", "das haus") * 40


def files(folder: Path, sources: tuple[str, ...] = ENGLISH, targets: tuple[str, ...] = GERMAN) -> tuple[Path, Path]:
    for name, lines in (("en", sources), ("de", targets)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / "en", folder / "de"


def test_words_that_belong_together_are_linked() -> None:
    pytest.importorskip("eflomal", reason="needs the package eflomal: pip install 'regard[align]'")
    forward, reverse = eflomal.align_pairs(zip(ENGLISH, GERMAN, strict=True))
    assert len(forward) == len(reverse) == len(ENGLISH)
    both = [intersection(one, other) for one, other in zip(forward, reverse, strict=True)]
    right = sum({(link.source, link.target) for link in own} <= {(at, at) for at in range(3)} for own in both)
    assert right > 0.8 * len(both)
    assert sum(map(len, both)) > 2 * len(both)
    assert eflomal.align_pairs([]) == ([], [])


def test_a_file_has_a_line_for_each_line_and_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def align(pairs: object, letters: int | None = None) -> object:
        calls.append(list(pairs))  # type: ignore[call-overload]
        return [(Link(0, 0), Link(1, 1))] * 2, [(Link(1, 1),)] * 2

    monkeypatch.setattr(eflomal, "align_pairs", align)
    corpus = open_corpus(*files(tmp_path, ("a b", "", "c d", "e"), ("A B", "X", "C D", "")))
    path = eflomal.eflomal_links(corpus, tmp_path / "links", intersection)
    assert eflomal.eflomal_links(corpus, tmp_path / "links") == path
    assert calls == [[("a b", "A B"), ("c d", "C D")]]
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines == ["1-1", "", "1-1", "", ""]
    assert parse_links(lines[0]) == (Link(1, 1),)


@pytest.mark.parametrize(("pairs", "letters", "used"), [(9, None, 4), (10, None, 0), (9, 0, 0), (10, 3, 3)])
def test_little_text_is_aligned_by_the_first_letters_of_words(
    monkeypatch: pytest.MonkeyPatch, pairs: int, letters: int | None, used: int
) -> None:
    asked = []

    class Program:
        def __init__(self, **settings: int) -> None:
            asked.append(settings)

        def align(self, sources: list[str], _: list[str], links_filename_fwd: str, links_filename_rev: str) -> None:
            for name in (links_filename_fwd, links_filename_rev):
                Path(name).write_text("0-0\n" * len(sources), encoding="utf-8")

    monkeypatch.setattr(eflomal, "_program", lambda: SimpleNamespace(Aligner=Program))
    monkeypatch.setattr(eflomal, "LITTLE_TEXT", 10)
    forward, _ = eflomal.align_pairs([("a", "b")] * pairs, letters)
    assert forward == [(Link(0, 0),)] * pairs
    assert asked == [{"source_prefix_len": used, "target_prefix_len": used}]


def test_without_the_package_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "eflomal", None)
    with pytest.raises(RegardError, match=r"need the package eflomal: pip install 'regard\[align\]'"):
        eflomal.align_pairs([("a", "b")])
