import pytest

from regard.base.errors import UsageError
from regard.markup.document_files import READERS, has_reader, open_document
from tests.markup.fakes import backwards


def test_the_ending_tells_the_format() -> None:
    assert open_document(b"# a b", "A.MD").translated(backwards) == b"# B A"
    assert open_document(b"<p>a b</p>", "x/a.html").translated(backwards) == b"<p>B A</p>"
    assert all(has_reader(f"a{ending}") for ending in READERS)
    assert not has_reader("a.en")
    with pytest.raises(UsageError, match=r"a\.pdf: no document that can be translated; its name may end in \.txt, "):
        open_document(b"", "a.pdf")
