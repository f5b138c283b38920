from regard.data.word_spans import word_spans


def test_words_are_where_they_stand() -> None:
    text = " one▁two  three"
    assert [text[start:end] for start, end in word_spans(text)] == ["one", "two", "three"]
    assert word_spans(" ") == []
