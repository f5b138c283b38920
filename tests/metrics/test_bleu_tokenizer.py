"""Each language is cut into words by the tokenizer that suits it."""

import pytest

from regard.metrics import bleu_tokenizer as module
from regard.metrics.bleu_tokenizer import bleu_tokenizer
from regard.metrics.quality import corpus_scores

TEXTS = {
    "zh": "两只狗在雪地里玩耍。",
    "ja": "二匹の犬が雪の中で遊んでいる。",
    "ko": "개 두 마리가 눈 속에서 놀고 있다.",
    "th": "สุนัขสองตัวเล่นหิมะ",
    "lo": "ໝາສອງໂຕຫຼິ້ນຫິມະ",
    "km": "ឆ្កែពីរលេងក្នុងព្រិល",
    "my": "ခွေးနှစ်ကောင် နှင်းထဲမှာ ကစားနေတယ်",
    "de": "Zwei Hunde spielen im Schnee.",
    "ru": "Две собаки играют в снегу.",
    "hi": "दो कुत्ते बर्फ में खेल रहे हैं।",
    "ar": "كلبان يلعبان في الثلج.",
}


@pytest.fixture(params=[True, False])
def mecab(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With the packages of MeCab, and without."""
    monkeypatch.setattr(module, "find_spec", lambda name: object() if request.param else None)
    return bool(request.param)


@pytest.mark.parametrize("language", TEXTS)
def test_by_name_and_by_script_it_is_the_same(language: str, mecab: bool) -> None:
    east = {"ja": "ja-mecab", "ko": "ko-mecab"} if mecab else {"ja": "char", "ko": "char"}
    wanted = {"zh": "zh", **east, **dict.fromkeys(("th", "lo", "km", "my"), "char")}.get(language, "13a")
    assert bleu_tokenizer(language, [TEXTS["de"]]) == wanted
    assert bleu_tokenizer(None, [TEXTS[language]]) == wanted
    assert bleu_tokenizer("txt", [TEXTS[language], "Regard 2.0"]) == wanted


def test_codes_have_regions_and_three_letters() -> None:
    assert [bleu_tokenizer(code, []) for code in ("zh_TW", "zh-Hans", "ZHO", "cmn", "tha")] == ["zh"] * 4 + ["char"]
    assert bleu_tokenizer(None, []) == bleu_tokenizer("de", []) == "13a"


def test_a_few_foreign_words_do_not_decide() -> None:
    assert bleu_tokenizer(None, ["The word 狗 means dog, and 雪 means snow."]) == "13a"
    assert bleu_tokenizer(None, ["两只狗在雪地里玩耍 (Regard)。"]) == "zh"


def test_what_is_nearly_right_counts_for_something() -> None:
    outputs, references = ["两只狗在雪地里玩。"] * 3, [TEXTS["zh"]] * 3
    plain = corpus_scores(outputs, references, measures=("BLEU",))[0]
    chosen = corpus_scores(outputs, references, measures=("BLEU",), tokenize=bleu_tokenizer("zh", references))[0]
    assert "tok:zh" in chosen.signature
    assert plain.value < 1 < 50 < chosen.value
