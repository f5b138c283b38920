"""Both engines on the same text: how many translations are the same, and how many sentences a second each makes.

python benchmarks/engines.py runs/en-de test.en --lines 200
"""

import argparse
import tempfile
import time
from pathlib import Path

from regard.base.files import read_lines
from regard.decoding.strategies.beam import Beam
from regard.decoding.strategies.greedy import Greedy
from regard.decoding.strategy import Strategy
from regard.decoding.translator import Translator
from regard.interop.ctranslate2_export import export_ctranslate2
from regard.loading import load


def translated(translator: Translator, texts: list[str], strategy: Strategy, rounds: int) -> tuple[list[str], float]:
    """The translations, and the sentences a second of the best round."""
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        found = translator.translate(texts, strategy=strategy)
        best = min(best, time.perf_counter() - began)
    return [one.text for one in found], len(texts) / best


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model file or run folder")
    parser.add_argument("text", help="lines to translate")
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    texts = [line for line, _ in zip(read_lines(given.text), range(given.lines), strict=False)]
    with tempfile.TemporaryDirectory() as folder:
        engines = {"torch": load(given.model)}
        for kind in ("float32", "int8"):
            place = export_ctranslate2(given.model, Path(folder) / kind, kind)
            engines[f"ctranslate2 {kind}"] = load(place, engine="ctranslate2")
        print(f"{'engine':<22}{'search':<10}{'sentences/s':>12}{'as torch':>12}")
        for strategy in (Greedy(), Beam(size=5)):
            wanted: list[str] = []
            for name, engine in engines.items():
                found, speed = translated(engine, texts, strategy, given.rounds)
                wanted = wanted or found
                same = sum(one == other for one, other in zip(wanted, found, strict=True))
                search = type(strategy).__name__.lower()
                print(f"{name:<22}{search:<10}{speed:>12.0f}{f'{same}/{len(texts)}':>12}", flush=True)


if __name__ == "__main__":
    main()
