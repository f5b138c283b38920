"""Languages: their codes, and where headers and file names name them."""

import re
from functools import cache
from pathlib import Path

from regard.base.unpacking import PACKED

_NAMES = """
aa Afar; ab Abkhazian; ae Avestan; af Afrikaans; ak Akan; am Amharic; an Aragonese; ar Arabic العربية; as Assamese; av
Avaric; ay Aymara; az Azerbaijani; ba Bashkir; be Belarusian; bg Bulgarian български; bi Bislama; bm Bambara; bn
Bangla বাংলা; bo Tibetan; br Breton; bs Bosnian; ca Catalan català; ce Chechen; ch Chamorro; co Corsican; cr Cree; cs
Czech čeština; cu Church_Slavic; cv Chuvash; cy Welsh Cymraeg; da Danish dansk; de German Deutsch; dv Divehi; dz
Dzongkha; ee Ewe; el Greek Ελληνικά; en English; eo Esperanto; es Spanish español; et Estonian eesti; eu Basque
euskara; fa Persian فارسی; ff Fula; fi Finnish suomi; fj Fijian; fo Faroese; fr French français; fy Western_Frisian;
ga Irish Gaeilge; gd Scottish_Gaelic; gl Galician galego; gn Guarani; gu Gujarati; gv Manx; ha Hausa; he Hebrew עברית;
hi Hindi हिन्दी; ho Hiri_Motu; hr Croatian hrvatski; ht Haitian_Creole; hu Hungarian magyar; hy Armenian; hz Herero;
ia Interlingua; id Indonesian Indonesia; ie Interlingue; ig Igbo; ii Sichuan_Yi; ik Inupiaq; io Ido; is Icelandic
íslenska; it Italian italiano; iu Inuktitut; ja Japanese 日本語; jv Javanese; ka Georgian; kg Kongo; ki Kikuyu; kj
Kuanyama; kk Kazakh; kl Kalaallisut; km Khmer; kn Kannada; ko Korean 한국어; kr Kanuri; ks Kashmiri; ku Kurdish; kv
Komi; kw Cornish; ky Kyrgyz; la Latin; lb Luxembourgish; lg Ganda; li Limburgish; ln Lingala; lo Lao; lt Lithuanian
lietuvių; lu Luba-Katanga; lv Latvian latviešu; mg Malagasy; mh Marshallese; mi Māori; mk Macedonian македонски; ml
Malayalam; mn Mongolian; mr Marathi; ms Malay Melayu; mt Maltese; my Burmese; na Nauru; nb Norwegian_Bokmål
norsk_bokmål; nd North_Ndebele; ne Nepali; ng Ndonga; nl Dutch Nederlands; nn Norwegian_Nynorsk norsk_nynorsk; no
Norwegian; nr South_Ndebele; nv Navajo; ny Nyanja; oc Occitan; oj Ojibwa; om Oromo; or Odia; os Ossetic; pa Punjabi;
pi Pali; pl Polish polski; ps Pashto; pt Portuguese português; qu Quechua; rm Romansh; rn Rundi; ro Romanian română;
ru Russian русский; rw Kinyarwanda; sa Sanskrit; sc Sardinian; sd Sindhi; se Northern_Sami; sg Sango; sh
Serbo-Croatian; si Sinhala; sk Slovak slovenčina; sl Slovenian slovenščina; sm Samoan; sn Shona; so Somali; sq
Albanian shqip; sr Serbian српски; ss Swati; st Southern_Sotho; su Sundanese; sv Swedish svenska; sw Swahili; ta Tamil
தமிழ்; te Telugu; tg Tajik; th Thai ไทย; ti Tigrinya; tk Turkmen; tl Tagalog; tn Tswana; to Tongan; tr Turkish Türkçe;
ts Tsonga; tt Tatar; tw Twi; ty Tahitian; ug Uyghur; uk Ukrainian українська; ur Urdu اردو; uz Uzbek; ve Venda; vi
Vietnamese Tiếng_Việt; vo Volapük; wa Walloon; wo Wolof; xh Xhosa; yi Yiddish; yo Yoruba; za Zhuang; zh Chinese 中文; zu
Zulu
"""
_THREE = """afr ara bel ben bul cat ces cmn cze dan deu dut ell eng epo est eus fas fin fra fre gle glg ger gre heb hin
hrv hun hye ind isl ita jpn kat kaz khm kor lat lav lit mkd msa nld nno nob nor pes pol por ron rum rus slk slv spa
sqi srp swa swe tam tat tel tgl tha tur ukr urd uzb vie wuu yid yue zho"""
_SIDES = frozenset("src tgt trg ref hyp".split())
"""what stands for a language in the names of sources and targets"""
_ENDINGS = (
    *PACKED,
    ".bpe",
    ".spm",
    ".txt",
    ".text",
    ".tok",
    ".tsv",
    ".csv",
    ".jsonl",
    ".json",
    ".ndjson",
    ".tmx",
    ".xlsx",
    ".zip",
)


def language_code(name: str) -> str | None:
    """The code of a language that is named by its code, in English or in itself: `de`, `pt-BR`, `German`, `Deutsch`."""
    folded = " ".join(name.casefold().split())
    code, _, region = " ".join(name.split()).replace("_", "-").partition("-")
    code = code.casefold()
    if code in _codes() and (not region or re.fullmatch(r"[A-Z][a-z]{3}|hans|hant|[A-Za-z]{2}|\d{3}", region)):
        return code + name.strip()[len(code) :]
    return _named().get(folded)


def without_region(code: str) -> str:
    """`pt` of `pt-BR`, `zh` of `zh_Hans`: the language that a code names."""
    return re.split("[-_]", code.casefold())[0]


def code_of(name: str) -> str:
    """The code of a language named in full, such as `German`; any other text as it is, for it may be a code."""
    return _named().get(" ".join(name.casefold().split()), name)


def language_in(name: str) -> str | None:
    """The one language that a header such as `text_en`, `English sentence` or `translation.de` names, if any."""
    whole = language_code(name)
    if whole is not None:
        return whole
    words = re.split(r"[\W_]+", name.casefold())
    plain = {code for word in words if (code := _named().get(word))}
    if not plain and re.fullmatch(r"[a-z]+[._][a-z]{2,3}|[a-z]{2,3}[._][a-z]+", name.casefold().strip()):
        plain = {word for word in words if word in _codes()}
    return plain.pop() if len(plain) == 1 else None


def language_of(file: Path) -> str | None:
    """`train.de`, `train.tok.de.gz`, `a.de.txt`, `train_de.txt` and `German.txt` are German; `train.src` is none."""
    parts = [part for part in file.name.split(".")[1:] if f".{part}" not in _ENDINGS]
    last = parts[-1] if parts else ""
    code, _, region = last.replace("-", "_").partition("_")
    plausible = 2 <= len(code) <= 3 and code.isalpha() and (not region or region.isalnum())
    if not last and re.search(r"\.te?xt\b", file.name):
        return language_in(file.name.partition(".")[0])
    return last if plausible and code not in _SIDES and not _both(last) else None


def language_pair(file: Path) -> tuple[str, str] | None:
    """The two languages that the name of one file for both sides tells: `Tatoeba.en-fr.tsv`, `en_de.csv`."""
    for part in re.split(r"[.\s]", file.name):
        if _both(part):
            one, other = re.split("[-_]", part)
            return one, other
    return None


def _both(part: str) -> bool:
    words = re.split("[-_]", part)
    return len(words) == 2 and words[0] != words[1] and all(word in _codes() for word in words)


@cache
def _named() -> dict[str, str]:
    entries = [entry.split() for entry in _NAMES.replace("\n", " ").split(";")]
    return {name.replace("_", " ").casefold(): code for code, *names in entries for name in names}


@cache
def _codes() -> frozenset[str]:
    return frozenset(_named().values()) | frozenset(_THREE.split())
