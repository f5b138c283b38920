import pytest

from regard.base.wording import counted


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (1_000, "1,000 lines"), (-1, "-1 lines")]
)
def test_one_is_singular(count: int, words: str) -> None:
    assert counted(count, "line") == words


def test_a_plural_of_its_own() -> None:
    assert [counted(count, "class", "classes") for count in (1, 2)] == ["1 class", "2 classes"]
