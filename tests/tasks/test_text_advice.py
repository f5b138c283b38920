"""Which settings suit a text."""

from dataclasses import replace
from itertools import pairwise

import pytest

from regard.data.statistics import SideStatistics, TextStatistics
from regard.tasks.run import with_preset
from regard.tasks.text_advice import TextAdvice, advise

SIDE = SideStatistics(
    words=11.0,
    most_words=18,
    characters=65.0,
    most_characters=110,
    tokens=200_000,
    types=15_000,
    novelty=0.05,
    alphabet=90,
    unspaced=0.0,
)
WORD = replace(SIDE, words=1.0, characters=10.0, novelty=0.9)
SENTENCES = TextStatistics(29_000, (SIDE, SIDE), 0.99)
SHORT = replace(SENTENCES, lines=15_000, sides=(replace(SIDE, words=6.0, characters=32.0),) * 2)
INFLECTION = TextStatistics(10_000, (replace(WORD, words=2.0, characters=25.0), WORD), 0.6)
DATES = TextStatistics(10_000, (replace(SIDE, words=3.6, characters=18.0, novelty=0.01), WORD), 0.2)
SCAN = TextStatistics(16_000, (replace(SIDE, types=13, novelty=0.0, words=7.0),) * 2, 0.0)
TEXT = TextStatistics(30_000, (SIDE,))
ALL = {"sentences": SENTENCES, "short": SHORT, "inflection": INFLECTION, "dates": DATES, "scan": SCAN, "text": TEXT}


@pytest.mark.parametrize(
    ("text", "model", "subwords", "metric"),
    [
        (SENTENCES, "transformer", "bpe", "bleu"),
        (SHORT, "transformer", "bpe", "bleu"),
        (replace(SHORT, lines=500), "seq2seq", "bpe", "chrf"),
        (replace(SENTENCES, lines=3_000), "seq2seq", "bpe", "chrf"),
        (INFLECTION, "seq2seq", "character", "exact"),
        (DATES, "seq2seq", "bpe", "exact"),
        (replace(DATES, sides=DATES.sides[::-1]), "seq2seq", "bpe", "exact"),
        (replace(DATES, copied=0.6), "seq2seq", "character", "exact"),
        (SCAN, "seq2seq", "word", "exact"),
        (TEXT, "gpt", "bpe", "loss"),
    ],
)
def test_the_kind_of_text_decides(text: TextStatistics, model: str, subwords: str, metric: str) -> None:
    advice = advise(text)
    assert (advice.model, advice.subwords, advice.metric) == (model, subwords, metric)


@pytest.mark.parametrize("text", [SENTENCES, SHORT, INFLECTION, SCAN])
@pytest.mark.parametrize("model", ["transformer", "seq2seq"])
def test_a_model_that_is_asked_for_changes_neither_tokenizer_nor_metric(text: TextStatistics, model: str) -> None:
    own, other = advise(text), advise(text, model)
    assert other.model == model
    assert (other.subwords, other.size, other.metric) == (own.subwords, own.size, own.metric)
    assert "as you ask for" in other.reasons[1]


def test_a_preset_that_is_asked_for_keeps_its_sizes() -> None:
    advice = advise(SENTENCES, None, "small")
    assert (advice.model, advice.preset, advice.sizes, advice.optimizer) == ("transformer", "small", {}, "adam")
    assert advise(SENTENCES, "seq2seq", "luong").preset == "luong"
    assert advise(SENTENCES, None, "tiny") == advise(SENTENCES)


@pytest.mark.parametrize("text", ALL.values(), ids=list(ALL))
@pytest.mark.parametrize("model", [None, "transformer", "seq2seq", "gpt", "rnn_lm"])
def test_whatever_is_asked_for_has_a_preset(text: TextStatistics, model: str | None) -> None:
    advice = advise(text, model)
    with_preset({"name": advice.model, "preset": advice.preset, **advice.sizes}, "model")


def test_the_reasons_are_words() -> None:
    advice = advise(replace(SHORT, lines=3_000))
    assert advice.reasons == (
        "natural sentences of about 6 words",
        "3,000 pairs: a recurrent network with attention, 1,600 subwords for each side",
        "1,797 steps of 1,024 tokens: the text about 76 times",
    )
    assert advice.metric_reason == "chrF decides, since BLEU hardly leaves 0 with so little text"


def test_of_very_little_text_little_is_promised() -> None:
    handful = advise(replace(SHORT, lines=4))
    assert "4 pairs are learned by heart, and others are not translated; give hundreds" in handful.reasons
    few = advise(replace(SHORT, lines=50))
    assert few.reasons[2:] == (
        "300 steps of 1,024 tokens: the text about 300 times",
        "50 pairs teach words rather than sentences; useful translators begin at about 10,000",
    )
    assert len(advise(replace(INFLECTION, lines=50)).reasons) == 3


def test_lines_far_beyond_the_usual_are_left_out() -> None:
    assert advise(SENTENCES).longest == 8 * 37  # 110 characters
    short = replace(SHORT.source, most_words=9, most_characters=40)
    assert advise(replace(SHORT, sides=(short, short))).longest == 256
    wide = replace(SENTENCES.source, most_words=200, most_characters=900)
    assert advise(replace(SENTENCES, sides=(wide, SENTENCES.target))).longest == 8 * 300
    spelled = replace(INFLECTION.source, most_characters=50)
    assert advise(replace(INFLECTION, sides=(spelled, spelled))).longest == 8 * 50
    assert advise(TextStatistics(10, SENTENCES.sides[:1])).longest is None


def test_outputs_may_be_as_long_as_the_text_needs() -> None:
    assert advise(SCAN).max_ratio is None
    assert advise(replace(SCAN, stretch_words=4.0, stretch_characters=9.0)).max_ratio == 5.0
    assert advise(replace(INFLECTION, stretch_words=4.0, stretch_characters=9.0)).max_ratio == 12.0
    assert advise(replace(SENTENCES, stretch_words=9.0, stretch_characters=9.0)).max_ratio is None  # a wrong pair


def test_languages_of_different_scripts_have_their_own_vocabularies() -> None:
    apart = advise(replace(SENTENCES, shared=0.05))
    assert (apart.sharing, apart.sizes["tie"]) == ("separate", "target")
    assert "5,100 subwords for each side, since they share 5% of their characters" in apart.reasons[1]
    assert advise(replace(SENTENCES, shared=0.05), None, "base").sizes == {"tie": "target"}
    together = advise(SENTENCES)
    assert (together.sharing, "tie" in together.sizes) == ("joint", False)


def test_every_letter_has_room_in_the_vocabulary() -> None:
    chinese = replace(SIDE, alphabet=2_500, unspaced=0.9)
    assert advise(replace(SENTENCES, lines=5_000, sides=(SIDE, chinese), shared=0.1)).size == 5_100
    assert advise(replace(SENTENCES, lines=5_000)).size == 2_100


def test_a_script_without_spaces_has_fewer_subwords() -> None:
    thai = replace(SIDE, alphabet=70, unspaced=0.9)
    assert advise(replace(SENTENCES, lines=3_000, sides=(SIDE, thai), shared=0.1)).size == 990
    assert advise(replace(SENTENCES, lines=3_000)).size == 1_600


def test_more_text_makes_larger_models_that_need_less_dropout() -> None:
    advices = [advise(replace(SENTENCES, lines=lines)) for lines in (500, 29_000, 200_000, 2_000_000, 20_000_000)]
    assert [advice.preset for advice in advices] == ["dates", "tiny", "tiny", "small", "base"]
    assert [advice.sizes.get("width") for advice in advices[:3]] == [None, None, 256]
    assert [advice.sizes["dropout"] for advice in advices[:3]] == [0.3, 0.2, 0.12]
    for less, more in pairwise(advices):
        assert less.size <= more.size
        assert less.steps < more.steps
        assert less.tokens <= more.tokens


def test_weights_of_a_small_transformer_decay() -> None:
    assert (advise(SENTENCES).decay, advise(SENTENCES).average) == (0.1, 3)
    for text, model in ((SENTENCES, "seq2seq"), (INFLECTION, None), (replace(SENTENCES, lines=3_000_000), None)):
        assert advise(text, model).decay == 0


@pytest.mark.parametrize("lines", [1, 10, 50, 500, 15_000, 200_000, 10_000_000])
@pytest.mark.parametrize("text", ALL.values(), ids=list(ALL))
def test_numbers_are_in_proportion(text: TextStatistics, lines: int) -> None:
    advice: TextAdvice = advise(replace(text, lines=lines))
    assert 0 < advice.warmup <= advice.steps / 4
    assert 300 <= advice.steps <= 100_000
    assert 5 <= advice.steps / advice.validate_every <= 60
    assert 300 <= advice.size <= 32_000
    assert 5e-4 < advice.rate < 1e-2
    assert 1_024 <= advice.tokens <= 4_096


def test_the_settings_change_smoothly_with_the_number_of_lines() -> None:
    counts = [round(100 * 1.1**power) for power in range(75)]
    for few, many in pairwise(counts):
        less, more = (advise(replace(SENTENCES, lines=lines)) for lines in (few, many))
        assert 1 / 2.1 < more.steps * more.tokens / (less.steps * less.tokens) < 2.1
        assert abs(float(less.sizes.get("dropout", 0.1)) - float(more.sizes.get("dropout", 0.1))) < 0.02


def test_letters_are_copied_where_much_of_a_target_stands_in_its_source() -> None:
    copied = advise(replace(INFLECTION, copied=0.6))
    assert (copied.model, copied.sizes["copy.attention"], copied.sharing) == ("seq2seq", "decoder", "joint")
    assert advise(replace(INFLECTION, copied=0.6), "transformer").sizes["copy"] == {}
    assert any("60% of a target stands in its source" in reason for reason in copied.reasons)
    assert not copied.tagged
    for text in (INFLECTION, replace(SENTENCES, copied=0.6)):
        assert not {"copy", "copy.attention"} & advise(text).sizes.keys()


def test_inflected_forms_get_whole_tags_and_new_stems() -> None:
    forms = advise(replace(INFLECTION, lines=1_000, copied=0.6, tagged=1.0))
    assert (forms.model, forms.preset, forms.tagged, forms.tokens) == ("seq2seq", "small", True, 512)
    assert (forms.sizes["copy.attention"], "encoder_layers" in forms.sizes) == ("decoder", False)
    assert any("stems are hallucinated" in reason for reason in forms.reasons)
    asked = advise(replace(INFLECTION, lines=1_000, copied=0.6, tagged=1.0), "transformer")
    assert (asked.tagged, asked.sizes["encoder_layers"], asked.sizes["copy"]) == (True, 3, {})
    assert asked.steps > 1.5 * forms.steps
    assert not advise(replace(SENTENCES, copied=0.6, tagged=1.0)).tagged
