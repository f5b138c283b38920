"""What the helps of all commands have in common."""


def examples(*lines: str) -> str:
    """The end of a command's help: lines to try, kept as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
