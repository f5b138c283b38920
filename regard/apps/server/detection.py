"""Language identification for `auto` and `/detect`: the text alone is read, no model is asked.

The confidence of a language is its probability among all that the library knows: those of the served languages add up
to less than 1 where the text may be in another one. A language that the library does not know gets what is left.
"""

import re
from collections.abc import Sequence

from regard.apps.server.messages import DetectedLanguage
from regard.data.identification import DIALECTS, ranked_languages
from regard.markup.html_text import Passage, passages

SAMPLE = 1_000
"""characters of the sample"""
_SURE = 0.5
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+|\S+@\S+\.\S+|\{[^{}]*\}")


def sample(text: str, form: str = "text") -> str:
    """The beginning of a text in one line, without addresses and placeholders; of HTML, the beginning of its text."""
    if form == "html":
        read = (part.items for part in passages(text[: 20 * SAMPLE]) if isinstance(part, Passage))
        text = " ".join("".join(item for item in items if isinstance(item, str)) for items in read)
    line = " ".join(_ADDRESS.sub(" ", text[: 4 * SAMPLE]).split())
    if len(line) <= SAMPLE:
        return line
    return line[:SAMPLE].rpartition(" ")[0] or line[:SAMPLE]


def confidences(text: str, languages: Sequence[str]) -> dict[str, float]:
    """The probability that a text is in each of these languages, the likeliest first; the rest to 1 is for others."""
    ranked: dict[str, float] = {}
    for code, share in ranked_languages(text):
        ranked[code] = ranked.get(code, 0.0) + share
        if code in DIALECTS and code not in map(_base, languages):
            ranked[DIALECTS[code]] = ranked.get(DIALECTS[code], 0.0) + share
    known = [code for code in languages if _base(code) in ranked]
    found = {code: min(1.0, ranked[_base(code)]) for code in known}
    strangers = [code for code in languages if code not in found]
    rest = max(0.0, 1.0 - sum(found.values()))
    found |= {code: rest / len(strangers) for code in strangers}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def is_in(language: str, found: dict[str, float]) -> bool:
    """Whether a text with these confidences is in a language: it is the likeliest, and likelier than not."""
    return bool(found) and next(iter(found)) == language and found[language] > _SURE


def as_languages(found: dict[str, float]) -> list[DetectedLanguage]:
    """The confidences as LibreTranslate gives them, in percent."""
    return [DetectedLanguage(language=language, confidence=round(100 * share, 1)) for language, share in found.items()]


def _base(code: str) -> str:
    """`pt_BR` is Portuguese, `nb` Norwegian."""
    base = re.split("[-_]", code)[0].lower()
    return "no" if base == "nb" else base
