"""Translators whose cross-attention is known, to be aligned with."""

import torch
from torch import Tensor, nn

from regard.attention.normalizers.softmax import Softmax
from regard.attention.part import Sizes
from regard.attention.reading import Reading
from regard.attention.scores.dot import Dot
from regard.data.subwords.learn import SubwordSettings, learn_subwords
from regard.data.subwords.tokenizer import MARK, SubwordPair, Subwords
from regard.decoding.translator import Translator
from regard.models.writer import Transducer

WORDS = {"the": "das", "dog": "hund", "cat": "katze", "sees": "sieht", "big": "grosse", "house": "haus", "and": "und"}
LETTERS = {"犬": "D", "猫": "C", "家": "H", "大": "B", "見": "S", "川": "R", "山": "M", "本": "K"}
"""words of a text without spaces"""
SHARPNESS = 12.0


class Cross(nn.Module):
    """A layer of some heads, each of which looks wherever it is told to."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        sizes = Sizes(width=8, heads=heads, key_heads=heads, query_width=8, key_width=8, value_width=8)
        self.heads = heads
        self.reading = Reading(Dot().build(sizes), Softmax().build(sizes))


class Knowing(Transducer):
    """A model two of whose heads know the dictionary: head 1 of layer 1 for the token that comes, of layer 0 for the
    one that was read. The other heads look at all tokens alike.
    """

    def __init__(self, source: Subwords, target: Subwords, dictionary: dict[str, str]) -> None:
        super().__init__()
        self.decoder = nn.Module()
        self.decoder.layers = nn.ModuleList([nn.ModuleDict({"cross": Cross(2)}) for _ in range(2)])
        self.output = nn.Linear(1, len(target))
        table = torch.zeros(len(target), len(source))
        for one, other in dictionary.items():
            for written in spelled(target, other):
                table[written, spelled(source, one)] = 1.0
        self.register_buffer("table", table)

    def hidden(self, source: Tensor, source_lengths: Tensor, target: Tensor) -> Tensor:
        coming = torch.cat([target[:, 1:], torch.full_like(target[:, :1], 3)], 1)
        keep = (torch.arange(source.shape[1]) < source_lengths[:, None])[:, None, None]
        key = torch.nn.functional.one_hot(source, self.table.shape[1]).float()[:, None].expand(-1, 2, -1, -1)
        for layer, tokens in zip(self.decoder.layers, (target, coming), strict=True):
            knowing = SHARPNESS * self.table[tokens]
            query = torch.stack([torch.zeros_like(knowing), knowing], 1)
            layer["cross"].reading(query, key, key, keep)
        return torch.zeros(*target.shape, 1)

    def start(self, source, source_lengths, rows=1):  # pragma: no cover - nothing is decoded
        raise NotImplementedError

    def step(self, token, state):  # pragma: no cover
        raise NotImplementedError


def spelled(subwords: Subwords, word: str) -> list[int]:
    """The tokens of a word that are letters."""
    return [number for number in subwords.encode(word) if subwords.pieces[number] != MARK]


def subwords(kind: str = "word", dictionary: dict[str, str] = WORDS) -> SubwordPair:
    sides = dictionary, dictionary.values()
    made = [learn_subwords([" ".join(side)], SubwordSettings(kind=kind, size=60, min_count=1)) for side in sides]
    return SubwordPair(*made)


def knowing(kind: str = "word", dictionary: dict[str, str] = WORDS, *, turned: bool = False) -> Translator:
    """A translator that knows the dictionary; `turned`, it translates the other way."""
    pair = subwords(kind, dictionary)
    source, target = (pair.target, pair.source) if turned else (pair.source, pair.target)
    dictionary = {other: one for one, other in dictionary.items()} if turned else dictionary
    return Translator(Knowing(source, target, dictionary).eval(), source, target)


def pairs(
    count: int = 40, dictionary: dict[str, str] = WORDS, space: str = " "
) -> tuple[list[str], list[str], list[list[int]]]:
    """Sources of different words, their translations with words in other places, and where each target word is from."""
    torch.manual_seed(5)
    sources, targets, orders = [], [], []
    for _ in range(count):
        chosen = torch.randperm(len(dictionary))[: int(torch.randint(2, len(dictionary) + 1, ()))].tolist()
        source = [list(dictionary)[at] for at in chosen]
        order = torch.randperm(len(source)).tolist()
        sources.append(space.join(source))
        targets.append(space.join(dictionary[source[at]] for at in order))
        orders.append(order)
    return sources, targets, orders
