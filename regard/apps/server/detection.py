"""Language detection among the languages that the models read.

A model gives higher probabilities when it reads the language it was trained on. So each candidate translates the
beginning of the text, and its fit is the mean log-probability of the tokens that it writes; an unknown source token
counts as a very unlikely one. An extra candidate, the stranger, stands for all other languages with a fixed mean, so
that no candidate gets a high confidence for a text in none of the languages. The confidences are

    exp(s · fit(language)) / (exp(s · stranger) + Σ exp(s · fit(other)))
"""

from math import exp

from regard.apps.server.messages import DetectedLanguage
from regard.data.subwords.tokenizer import UNK
from regard.decoding.translation import Translation
from regard.decoding.translator import Translator

SAMPLE = 200
"""characters of the sample"""
_SHARPNESS = 6.0
_STRANGER = -1.0
_UNKNOWN = -5.0


def sample(text: str) -> str:
    """The beginning of a text, cut at a space where there is one, as one line."""
    line = " ".join(text[: 4 * SAMPLE].split())
    if len(line) <= SAMPLE:
        return line
    return line[:SAMPLE].rpartition(" ")[0] or line[:SAMPLE]


def fit(translator: Translator, text: str, translation: Translation) -> float:
    """The mean log-probability of a model's translation of a text, at most 0."""
    ids = translator.source.encode(text)
    if not ids or not translation.n_best:
        return _UNKNOWN
    unknown = sum(number == UNK for number in ids) / len(ids)
    scores = translation.n_best[0].token_scores
    return (1 - unknown) * sum(scores) / max(1, len(scores)) + unknown * _UNKNOWN


def confidences(fits: dict[str, float]) -> dict[str, float]:
    """The probability of each language, the likeliest first; the rest to 1 is that it is none of them."""
    shares = {language: exp(_SHARPNESS * value) for language, value in fits.items()}
    total = exp(_SHARPNESS * _STRANGER) + sum(shares.values())
    return {language: share / total for language, share in sorted(shares.items(), key=lambda item: -item[1])}


def as_languages(found: dict[str, float]) -> list[DetectedLanguage]:
    """The confidences as LibreTranslate gives them, in percent."""
    return [DetectedLanguage(language=language, confidence=round(100 * share, 1)) for language, share in found.items()]
