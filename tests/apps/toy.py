"""A language of twelve words, and its translation word by word: small enough to be learned in seconds."""

import random
from pathlib import Path

WORDS = {
    "dog": "hund",
    "cat": "katze",
    "sees": "sieht",
    "hears": "hoert",
    "the": "das",
    "big": "grosse",
    "small": "kleine",
    "house": "haus",
    "and": "und",
    "tree": "baum",
    "finds": "findet",
    "water": "wasser",
}


def translation(text: str) -> str:
    """What the text means."""
    return " ".join(WORDS[word] for word in text.split())


def pairs(count: int, seed: int = 1, skip: int = 0) -> list[tuple[str, str]]:
    """So many different pairs, after the first `skip` of them."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < skip + count:
        text = " ".join(chance.choice(list(WORDS)) for _ in range(chance.randint(3, 6)))
        found.setdefault(text, translation(text))
    return list(found.items())[skip:]


def write(path: Path, lines: list[str]) -> Path:
    """A text file with these lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_pairs(folder: Path, name: str, made: list[tuple[str, str]]) -> None:
    """NAME.en and NAME.de."""
    write(folder / f"{name}.en", [source for source, _ in made])
    write(folder / f"{name}.de", [target for _, target in made])


def write_corpus(folder: Path) -> None:
    """Training, dev and test set, no pair of one in another."""
    write_pairs(folder, "train", pairs(200))
    write_pairs(folder, "dev", pairs(12, skip=200))
    write_pairs(folder, "test", pairs(12, skip=212))
