import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.subwords.tokenizer import words
from regard.data.word_spans import SPACED_WORD, is_spaced, word_spans, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Two dogs play .", "Two dogs play ."),
        ('"Stop...", he (don\'t!)', '" Stop ... " , he ( don\'t ! )'),
        ("3.14 2001-05-03 $5 50% e-mail", "3.14 2001-05-03 $ 5 50 % e-mail"),
        ("see https://x.org/a?b.", "see https://x.org/a?b ."),
        ("हिन्दी भाषा।", "हिन्दी भाषा ।"),
        ("e\u0301, x", "e\u0301 , x"),
        ("👍🏽🇩🇪🇫🇷!!!", "👍🏽 🇩🇪 🇫🇷 !!!"),
        ("𠀀我们走", "𠀀 我们 走"),
        ("今天天气很好！", "今天 天气 很好 ！"),
        ("我爱Python。", "我 爱 Python 。"),
        ("これは日本語の文です。", "これ は 日本語 の 文 です 。"),
        ("สวัสดีครับผมชื่อสมชาย", "สวัสดี ครับ ผม ชื่อ สมชาย"),
        ("ខ្ញុំស្រឡាញ់អ្នក។", "ខ្ញុំ ស្រឡាញ់ អ្នក ។"),
        ("ສະບາຍດີທຸກຄົນ", "ສະບາຍດີ ທຸກຄົນ"),
        ("မင်္ဂလာပါ။", "မင်္ဂလာ ပါ ။"),
        (" one▁two  three", "one two three"),
        ("", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words_of(text) == expected.split()


@given(st.one_of(st.text(max_size=30), st.text(alphabet="aé.,!\"'▁ \n我们ไทย👍🏽\u200d🇩🇪。", max_size=30)))
def test_they_are_in_order_and_nothing_but_white_space_is_between(text: str) -> None:
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert [place for span in spans for place in span] == sorted(place for span in spans for place in span)
    assert "".join(words_of(text)) == "".join(words(text))
    assert SPACED_WORD.findall(text) == words(text)


def test_texts_that_were_not_segmented_are_recognized() -> None:
    assert is_spaced(["Two dogs play.", "no punctuation at all", "今天 天气 很好 。"])
    assert not is_spaced(["今天天气很好！"])
    assert not is_spaced(["สวัสดีครับผมชื่อสมชาย"])
    assert is_spaced([])
