import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.decoding.sentences import ended, language_by_script, sentences, several

CASES = [
    ("en", "Hello.|How are you?|I am fine.|It rains.|Good bye."),
    ("en", "hello.|how are you?|i am fine"),
    ("en", "Dr. Smith met J. R. Miller at 3.14 p.m. yesterday.|They talked."),
    ("en", "It costs 3.50 dollars, e.g. at www.example.org today.|Yes."),
    ("en", "Visit https://example.com/a.b?c=d.|Then go home...|Or not?"),
    ("en", '"Really?" she asked.|"Yes!" he said.'),
    ("en", "Two dogs play .|A man is running ."),
    ("en", "Hi {name}.|Write to a.b@c.org now."),
    ("en", "Wait!!!|What?!|No."),
    ("en", "1. First item"),
    ("en", "Hello!  |How are you?\t|Fine."),
    ("en", "Hello! :)"),
    ("en", "3.5.2001 12:30 v1.2.3 node.js"),
    ("en", "no end at all"),
    ("de", "Am 3. Oktober kam z. B. Herr Dr. Müller.|„Wirklich?“, fragte sie.|Er ging."),
    ("fr", "M. Dupont est là.|« Vraiment ? » dit-elle.|Oui !"),
    ("es", "¿Cómo?|¡Bien!|El Sr. López."),
    ("pt_BR", "O Sr. Silva veio.|Ele foi."),
    ("zh", "今天天气很好。|我们去公园吧！|好吗？"),
    (None, "今天天气很好。|我们去公园吧！"),
    ("ja", "こんにちは。|元気ですか？"),
    ("ar", "ما اسمك؟|اسمي علي."),
    ("hi", "यह पहला है।|यह दूसरा है।"),
    ("my", "မင်္ဂလာပါ။|နေကောင်းလား။"),
    ("km", "ខ្ញុំស្រឡាញ់អ្នក។|អ្នកសុខសប្បាយទេ"),
    ("th", "สวัสดีครับ ผมชื่อสมชาย คุณสบายดีไหม"),
    ("xx", "Hello.|How are you?"),
    ("en", "  "),
    ("en", ""),
]


@pytest.mark.parametrize(("language", "text"), CASES)
def test_sentences(language: str | None, text: str) -> None:
    expected = [one.strip() for one in text.split("|") if one.strip()]
    wide = language in ("zh", "ja", None)
    whole = text.replace("|", "" if wide else " ")
    assert [one.strip() for one in sentences(whole, language) if one.strip()] == expected


@given(st.text(max_size=80), st.sampled_from([None, "en", "de", "zh", "th", "xx"]))
def test_joined_they_are_the_text(text: str, language: str | None) -> None:
    assert "".join(sentences(text, language)) == text


@given(st.text(alphabet="aB1 .!?。。\"'()\n", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_there_is_no_boundary_inside_a_span_that_is_whole(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    at = 0
    for sentence in sentences(text, "en", [(start, end)]):
        at += len(sentence)
        assert not start < at < end


@given(st.text(alphabet="abc DE,;-", max_size=40))
def test_text_without_ends_is_one_sentence(text: str) -> None:
    assert sentences(text) == ([text] if text else [])


def test_the_script_tells_which_rules_to_use() -> None:
    texts = {"Hello": "en", "你好": "zh", "これは日本": "ja", "مرحبا": "ar", "नमस्ते": "hi", "Привет": "ru", "Γεια": "el"}
    assert {text: language_by_script(text) for text in texts} == texts


def test_shares_of_texts() -> None:
    texts = ["One. Two.", "Three!", "four", "3.5.2001"]
    assert several(texts) == 0.25
    assert ended(texts) == 0.5
    assert several([]) == ended([]) == 0
