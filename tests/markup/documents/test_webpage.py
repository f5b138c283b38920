from regard.markup.documents.webpage import between_passages, read_webpage
from tests.markup.fakes import backwards


def test_tags_stay_and_texts_are_translated() -> None:
    page = b"<!doctype html><p class='a'>one <b>two</b></p><script>x y</script>\n<p>three"
    found = read_webpage(page, "a.html").translated(backwards)
    assert found == b"<!doctype html><p class='a'><b>TWO</b> ONE</p><script>x y</script>\n<p>THREE"


def test_there_is_one_more_between_than_there_are_passages() -> None:
    between, found = between_passages("<p>a</p><p>b</p>")
    assert between == ["<p>", "</p><p>", "</p>"]
    assert len(found) == 2
