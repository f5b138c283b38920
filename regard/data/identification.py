"""Language identification by py3langid, a naive Bayes classifier over byte n-grams.

Lui and Baldwin, langid.py: An Off-the-shelf Language Identification Tool, 2012, ACL. It knows 140 languages, works
offline and reads the text alone.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

from regard.data.languages import language_code

DIALECTS = {"yue": "zh", "wuu": "zh", "arz": "ar", "ary": "ar", "nn": "no", "nb": "no", "pcm": "en", "ext": "es"}
"""what the library tells apart, and most people do not"""
_GROUPS, _LETTERS = 5, 2_000
_FEWEST = 10
_SURE = 0.9


def ranked_languages(text: str) -> list[tuple[str, float]]:
    """The codes of all languages with the probability that the text is in each, the likeliest first."""
    return [(code, float(share)) for code, share in _identifier().rank(text)]


def language_of_lines(lines: Sequence[str]) -> str | None:
    """The language of a text by a sample of its lines; None where it is in doubt.

    Words of a made-up language look like some language or other, but not always like the same: so several groups of
    lines are asked about, and all must agree.
    """
    if len(lines) < _FEWEST:
        return None
    found = set()
    for start in range(_GROUPS):
        shares: dict[str, float] = {}
        for code, share in ranked_languages(" ".join(lines[start::_GROUPS])[:_LETTERS]):
            own = DIALECTS.get(code, code)
            shares[own] = shares.get(own, 0.0) + share
        likeliest = max(shares, key=lambda one: shares[one])
        found.add(likeliest if shares[likeliest] >= _SURE else "")
    [code, *others] = found
    return None if others else language_code(code)


@lru_cache(maxsize=1)
def _identifier() -> Any:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
