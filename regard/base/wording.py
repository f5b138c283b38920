"""Numbers in sentences."""


def counted(count: int, one: str, several: str = "") -> str:
    """How many of a thing there are: `1 line`, `2,000 lines`; `several` is a plural that does more than add an s.

    >>> counted(1, "class", "classes")
    '1 class'
    """
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"
