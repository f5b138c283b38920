"""Optional dependencies (extras): the sentence that says how to install one."""


def install_hint(extra: str) -> str:
    """The commands that install an extra, from an index or from a checkout, for an error message.

    >>> install_hint("serve")
    "pip install 'regard[serve]', or in a checkout pip install -e '.[serve]'"
    """
    return f"pip install 'regard[{extra}]', or in a checkout pip install -e '.[{extra}]'"
