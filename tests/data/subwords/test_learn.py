"""What is learned is the same every time, as large as asked where the text allows, and never silently useless."""

import subprocess
import sys
from pathlib import Path

import pytest

from regard.base.config import from_dict
from regard.base.errors import ConfigError, RegardError
from regard.data.corpus import Corpus, Texts, open_corpus
from regard.data.subwords.learn import SubwordSettings, learn_subwords, train_pair
from regard.data.subwords.tokenizer import SPECIALS
from tests.data.examples import KINDS, LINES, subwords


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_vocabulary(kind: str) -> None:
    fresh = (
        "from tests.data.examples import subwords\n"
        f"print(subwords({kind!r}).fingerprint, subwords({kind!r}, {kind != 'word'}).fingerprint)"
    )
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", fresh], cwd=root, capture_output=True, text=True, check=True).stdout
    assert found.split() == [subwords(kind).fingerprint, subwords(kind, kind != "word").fingerprint]


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_are_kept(kind: str) -> None:
    for size in (120, 160):
        one = learn_subwords(LINES, SubwordSettings(kind=kind, size=size))  # type: ignore[arg-type]
        assert len(SPECIALS) < len(one) <= size
        assert one.kind == kind
    large = learn_subwords(LINES, SubwordSettings(kind=kind, size=50_000))  # type: ignore[arg-type]
    assert len(large) < 1_000  # the text supports no more, which is no fault


def test_bytes_count_as_pieces() -> None:
    one = learn_subwords(LINES, SubwordSettings(size=400, byte_fallback=True))
    assert len(one) == 400
    assert one.pieces[4] == "<0x00>"


def test_rare_characters_give_way() -> None:
    lines = [*LINES, "漢字仮名交じり文"]
    settings = SubwordSettings(size=200, characters=len(set("".join(LINES))) - 1)
    one = learn_subwords(lines, settings)
    assert one.unknowns("漢字 dog") == ("漢", "字")
    assert one.unknowns("".join(LINES)) == ()
    assert "".join(learn_subwords(lines, SubwordSettings(kind="character", size=500)).unknowns("漢字")) == ""


def test_an_iterator_may_be_given() -> None:
    assert learn_subwords(iter(LINES), SubwordSettings(size=400)) == subwords()


def test_no_text_is_an_error() -> None:
    for lines in ([], ["", "  ", "▁"]):
        with pytest.raises(RegardError, match="there is no text to learn from"):
            learn_subwords(lines, SubwordSettings())


def test_a_vocabulary_that_came_out_tiny_is_an_error() -> None:
    with pytest.raises(RegardError, match="cannot write 12 of the first 12 tokens of its own text"):
        learn_subwords(["a b c d e f", "g h i j k l"], SubwordSettings(kind="word"))
    with pytest.raises(RegardError, match="no two characters occur together 50 times"):
        learn_subwords(LINES, SubwordSettings(min_count=50))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "bpee"}, r"subwords\.kind: unknown 'bpee' \(did you mean 'bpe'\?\)"),
        ({"size": 5}, "size must be at least 6, but is 5"),
        ({"size": 261, "byte_fallback": True}, "size must be at least 262"),
        ({"kind": "word", "byte_fallback": True}, "words are not written in bytes"),
        ({"min_count": 0}, "min_count must be at least 1"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_dict(settings, SubwordSettings, "subwords")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "a").write_text("the dog the dog\n" * 9 + "zzzz zzzz\n", encoding="utf-8")
    (tmp_path / "b").write_text("der Hund der Hund\n" * 10, encoding="utf-8")
    return open_corpus(tmp_path / "a", tmp_path / "b")


def test_joint_or_separate(corpus: Corpus) -> None:
    joint = train_pair(corpus, SubwordSettings(size=60))
    apart = train_pair(corpus, SubwordSettings(size=60, sharing="separate"))
    assert joint.joint
    assert joint.source.unknowns("dog Hund") == ()
    assert not apart.joint
    assert apart.source.unknowns("dog Hund") == ("H", "u", "n")
    assert apart.target.unknowns("Hund") == ()


def test_only_the_first_lines_are_read(corpus: Corpus) -> None:
    assert train_pair(corpus, SubwordSettings(size=60, lines=9)).source.unknowns("z") == ("z",)
    assert learn_subwords(Texts(corpus), SubwordSettings(size=60)).unknowns("z") == ()


def test_an_error_of_the_text_reaches_the_caller(corpus: Corpus) -> None:
    corpus.files[1].write_text("x\n")
    with pytest.raises(RegardError, match="has 10 lines but"):
        train_pair(corpus, SubwordSettings())
