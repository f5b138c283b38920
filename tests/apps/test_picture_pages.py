import pytest

from regard.apps.picture_pages import place_of
from regard.base.errors import UsageError


def test_places_are_rows_and_columns() -> None:
    assert place_of("12,5") == (12, 5)
    assert place_of(None) is None
    for wrong in ("12", "a,b", "1,2,3", ""):
        with pytest.raises(UsageError, match=r"--at: must be the row and column of a pixel, as in 12,5, but is"):
            place_of(wrong)
