"""What the helps of all commands have in common."""

from regard.apps.help import examples


def test_examples_are_kept_line_by_line() -> None:
    assert examples("regard a", 'regard b "c"') == '\b\nExamples:\n  regard a\n  regard b "c"'
