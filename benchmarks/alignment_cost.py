"""What it costs to ask for alignments while translating: the same lines with and without, in turn.

python benchmarks/alignment_cost.py runs/en-de test.en [--lines 200] [--rounds 9] [--beam 5] [--json results.json]
"""

import argparse
from itertools import islice

from measure import machine, print_table, spread, take_turns, write_json

from regard.base.files import read_lines
from regard.decoding.strategies.beam import Beam
from regard.decoding.translator import Translator
from regard.loading import load


def main() -> None:
    """Print one row: the times of both, and their ratio round by round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--json")
    options = parser.parse_args()
    translator = load(options.model, Beam(size=options.beam))
    if not isinstance(translator, Translator) or translator.aligner is None:
        parser.error(f"{options.model}: this model does not align")
    texts = list(islice(read_lines(options.text), options.lines))
    timing = take_turns(
        {
            "without": lambda: translator.translate(texts),
            "with": lambda: translator.translate(texts, alignments=True),
        },
        rounds=options.rounds,
        warm_up=1,
    )
    rows = [
        {
            "lines": f"{len(texts):,}",
            "without": f"{timing.median('without'):.2f} s",
            "with": f"{timing.median('with'):.2f} s",
            "with / without": spread(timing.ratio("with", "without")),
        }
    ]
    print(machine())
    print_table(f"Translating with alignments, beam {options.beam}", rows)
    write_json(options.json, {"alignment cost": rows})


if __name__ == "__main__":
    main()
