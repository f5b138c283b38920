"""Translators whose every answer is known, and counters of what must survive."""

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from html.parser import HTMLParser

from regard.data.links import Link, Links
from regard.data.subwords.tokenizer import words
from regard.data.word_spans import word_spans, words_of
from regard.decoding.translation import Translation


def answer(text: str, links: Links | None) -> Translation:
    return Translation(text, -1.0, (), links)


def spread(source: Sequence[str], target: Sequence[str], links: Sequence[Link]) -> Links:
    """Links between the words of alignments, from links between what white space separates."""
    here, there = _numbers(source), _numbers(target)
    found = []
    for one, other, sure in links:
        if not (0 <= one < len(here) and 0 <= other < len(there)):
            found.append(Link(one, other, sure))
            continue
        (ours, own), (theirs, its) = here[one], there[other]
        if len(own) == len(its):
            found += [Link(ours + at, theirs + at, sure) for at in range(len(own))]
        else:
            found.append(Link(ours + _core(own), theirs + _core(its), sure))
            if not own[-1].isalnum() and not its[-1].isalnum():
                found.append(Link(ours + len(own) - 1, theirs + len(its) - 1, sure))
    return tuple(found)


def _numbers(own: Sequence[str]) -> list[tuple[int, list[str]]]:
    found, at = [], 0
    for word in own:
        found.append((at, words_of(word)))
        at += len(found[-1][1])
    return found


def _core(own: list[str]) -> int:
    return next((at for at, one in enumerate(own) if one.isalnum()), 0)


def identity(texts: list[str]) -> list[Translation]:
    return [answer(text, tuple(Link(at, at) for at in range(len(word_spans(text))))) for text in texts]


def backwards(texts: list[str]) -> list[Translation]:
    """Every word in capitals, the last first."""
    found = []
    for text in texts:
        own = words(text)
        links = [Link(at, len(own) - 1 - at) for at in range(len(own))]
        turned = [word.upper() for word in reversed(own)]
        found.append(answer(" ".join(turned), spread(own, turned, links)))
    return found


def careless(seed: int, links: str) -> Callable[[list[str]], list[Translation]]:
    """Words in any order, some lost, doubled, changed or added; links are `right`, `wrong`, `empty` or `none`."""
    dice = random.Random(seed)

    def translate(texts: list[str]) -> list[Translation]:
        return [_carelessly(words(text), dice, links) for text in texts]

    return translate


def _carelessly(own: list[str], dice: random.Random, kind: str) -> Translation:
    order = [at for at in range(len(own)) for _ in range(dice.choice([0, 1, 1, 1, 1, 2]))]
    dice.shuffle(order)
    written, links = [], []
    for at in order:
        links.append(Link(at, len(written), dice.random()))
        written.append(dice.choice([own[at], own[at], own[at].upper(), own[at][1:] + "x", "wort"]))
        if dice.random() < 0.1:
            written.append(dice.choice(["{extra}", "%d", "&amp;", "<b>", "7", "und"]))
    if kind == "wrong":
        links = [Link(dice.randint(-2, 30), dice.randint(-2, 30), dice.random()) for _ in range(9)]
    told = spread(own, written, links)
    return answer(" ".join(written), None if kind == "none" else () if kind == "empty" else told)


class Tags(HTMLParser):
    """The tags of a document as the standard library sees them, and whether they are balanced."""

    VOID = frozenset("br hr img wbr input meta link".split())

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.count: Counter[str] = Counter()
        self.open: list[str] = []
        self.broken = 0
        self.texts: list[str] = []
        self.feed(document)
        self.close()
        self.broken += len(self.open)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.count[self.get_starttag_text() or ""] += 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.count[self.get_starttag_text() or ""] += 1

    def handle_endtag(self, tag: str) -> None:
        self.count[f"</{tag}>"] += 1
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.broken += 1

    def handle_comment(self, data: str) -> None:
        self.count[f"<!--{data}-->"] += 1

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


PLACEHOLDER = re.compile(r"\{\w+\}|%\d\$s|%s|https?://\w+\.org/\w+|\w+@\w+\.org")


def placeholders(document: str) -> Counter[str]:
    return Counter(match for text in Tags(document).texts for match in PLACEHOLDER.findall(text))
