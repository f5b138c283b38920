"""Which settings suit a corpus."""

from dataclasses import replace
from pathlib import Path

import pytest

from regard.base.errors import RegardError
from regard.data.corpus import open_corpus
from regard.tasks.advice import Look, TextAdvice, advise, look_at
from regard.tasks.run import with_preset
from tests.apps import toy

SENTENCES = Look(lines=29_000, sides=2, words=12.0, characters=65.0)
NAMES = Look(lines=40_000, sides=2, words=2.0, characters=14.0)
TEXT = Look(lines=30_000, sides=1, words=50.0, characters=300.0)


def test_a_corpus_is_looked_at_as_a_whole(tmp_path: Path) -> None:
    toy.write(tmp_path / "a.tsv", ["a b\tc d e f", "\t", "a\tb g"])
    assert look_at(open_corpus(tmp_path / "a.tsv")) == Look(2, 2, 9 / 4, (3 + 7 + 1 + 3) / 4)


@pytest.mark.parametrize(
    "text", ["昨日田中さんは新しい本を買いました。", "他昨天在图书馆看了一本很有意思的书。", "เมื่อวานฉันไปตลาดกับแม่"]
)
def test_sentences_without_spaces_are_no_single_words(tmp_path: Path, text: str) -> None:
    look = look_at(
        open_corpus(toy.write(tmp_path / "a.tsv", [f"{text}\tI went to the market with her yesterday ."] * 3))
    )
    assert look.words >= 7
    assert advise(look, None, None).model == "transformer"


def test_a_corpus_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="no line has text on every side"):
        look_at(open_corpus(toy.write(tmp_path / "a.tsv", ["\t", "a\t"])))


@pytest.mark.parametrize(
    ("look", "model", "subwords"),
    [(SENTENCES, "transformer", "bpe"), (NAMES, "seq2seq", "character"), (TEXT, "gpt", "bpe")],
)
def test_the_kind_of_text_decides_on_the_model(look: Look, model: str, subwords: str) -> None:
    advice = advise(look, None, None)
    assert (advice.model, advice.subwords) == (model, subwords)
    assert len(advice.reasons) == 1


def test_little_text_is_learned_with_what_is_soonest_good() -> None:
    small, other = advise(SENTENCES, None, None), advise(SENTENCES, None, "small")
    assert (small.optimizer, small.sizes) == ("muon", {"decoder_layers": 2, "dropout": 0.1})
    assert (other.optimizer, other.sizes) == ("adam", {})
    assert advise(replace(SENTENCES, lines=3_000), None, None).sizes == {"decoder_layers": 2}


def test_more_text_makes_larger_models_and_longer_training() -> None:
    small, large = advise(SENTENCES, None, None), advise(replace(SENTENCES, lines=4_000_000), None, None)
    assert (small.preset, large.preset) == ("tiny", "base")
    assert small.size < large.size
    assert small.steps < large.steps
    assert small.rate > large.rate


@pytest.mark.parametrize("look", [SENTENCES, NAMES, TEXT])
@pytest.mark.parametrize("model", [None, "transformer", "seq2seq", "gpt", "rnn_lm"])
def test_whatever_is_asked_for_has_a_preset(look: Look, model: str | None) -> None:
    advice = advise(look, model, None)
    assert advice.model == (model or advice.model)
    with_preset({"name": advice.model, "preset": advice.preset, **advice.sizes}, "model")


def test_what_is_asked_for_is_taken() -> None:
    advice = advise(SENTENCES, "seq2seq", "luong")
    assert (advice.model, advice.preset, advice.subwords) == ("seq2seq", "luong", "bpe")
    assert advice.reasons == ("29,000 lines: a seq2seq, as you ask for, 4,000 subwords",)
    assert advise(NAMES, "transformer", None).reasons == ("40,000 lines: a transformer, as you ask for, characters",)


@pytest.mark.parametrize("lines", [1, 10, 1_000, 100_000, 10_000_000])
@pytest.mark.parametrize("look", [SENTENCES, NAMES, TEXT])
def test_numbers_are_in_proportion(look: Look, lines: int) -> None:
    advice: TextAdvice = advise(replace(look, lines=lines), None, None)
    assert 0 < advice.warmup < advice.steps
    assert advice.steps >= 1_000  # few lines are read more often
    assert 5 <= advice.steps / advice.validate_every <= 60
    assert 1_000 <= advice.size <= 16_000
    assert 1e-4 < advice.rate < 1e-2
