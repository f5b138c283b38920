"""The BLEU table: translation systems from 2014 to 2017 on Multi30k German → English, at about one CPU time.

    python benchmarks/bleu_table.py [--systems gnmt conv_s2s] [--scale 1.0] [--json FILE]

Each system is its tiny preset in `recipes/multi30k-de-en.toml`, trained by `regard train` in a process of its own, for
as many steps as take about 25 minutes of one busy core; `--scale 2` doubles them. One that was interrupted is resumed;
one that is finished is only evaluated. The table has BLEU on test_2016_flickr (beam search, lower-cased tokenized text
as it is), steps, parameters, floating-point operations of training, and CPU time of the training steps. Each row is
printed as soon as it is known.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import multi30k
from environments import ROOT, WORK
from measure import machine, print_table, write_json

from regard.comparison.run_record import read_record
from regard.loading import load
from regard.metrics.quality import corpus_scores
from regard.tasks.run import read_run

RECIPE = ROOT / "recipes" / "multi30k-de-en.toml"
_ADAM = "training.optimizer={name='adam', learning_rate=0.002}"
SYSTEMS: dict[str, tuple[str, ...]] = {
    "transformer": (),
    "conv_s2s": ("model={name='conv_s2s', preset='tiny'}", _ADAM),
    "gnmt": ("model={name='gnmt', preset='tiny'}",),
    "deep_att": ("model={name='deep_att', preset='tiny'}",),
    "byte_net": ("model={name='byte_net', preset='tiny'}", _ADAM),
    "seq2seq": ("model={name='seq2seq', preset='small'}",),
    "moe": ("model={name='gnmt', preset='moe_tiny'}",),
    "transformer-adam": (_ADAM,),
}
"""changes of the recipe; Muon does not turn the convolutions of ConvS2S, which have weight normalization"""
STEPS = {
    "transformer": 2600, "conv_s2s": 1350, "gnmt": 1500, "deep_att": 1300, "byte_net": 1500,
    "seq2seq": 1500, "moe": 1000, "transformer-adam": 2900,
}  # fmt: skip
"""training steps of 2,048 tokens that take about 25 minutes of one busy core"""
TITLES = {
    "seq2seq": "LSTM with attention (Luong et al., 2015)",
    "deep_att": "Deep-Att (Zhou et al., 2016)",
    "gnmt": "GNMT (Wu et al., 2016)",
    "moe": "mixture of experts (Shazeer et al., 2017)",
    "byte_net": "ByteNet (Kalchbrenner et al., 2016)",
    "conv_s2s": "ConvS2S (Gehring et al., 2017)",
    "transformer": "Transformer (Vaswani et al., 2017)",
    "transformer-adam": "Transformer, trained with Adam",
}


def main() -> None:
    """Train what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS)[:5])
    parser.add_argument("--scale", type=float, default=1.0, help="factor of the training steps of each")
    parser.add_argument("--data", type=Path, help="the folder of Multi30k; ../shared/data/multi30k unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    data = multi30k.data_folder(options.data)
    runs = options.work / "bleu-table"
    print(machine())
    rows = []
    for name in options.systems:
        steps = round(options.scale * STEPS[name])
        rows.append(row(name, runs / f"{name}-{steps}", data, steps))
        print(rows[-1], flush=True)
    title = "Multi30k German → English, test_2016_flickr, steps of 2,048 tokens"
    print_table(title, rows)
    write_json(options.json, {title: rows})


def row(name: str, folder: Path, data: Path, steps: int) -> dict[str, str]:
    """Train one system to the end, and evaluate it."""
    changes = [f"name={folder.name}", f"training.steps={steps}", f"training.validate_every={-(-steps // 4)}"]
    changes += SYSTEMS[name]
    train(changes, folder, data)
    record, translator = read_record(folder), load(folder)
    sources, references = (lines(data / f"test_2016_flickr.lc.norm.tok.{side}.gz") for side in ("de", "en"))
    outputs = [one.text for one in translator.translate(sources, split="line")]
    bleu = corpus_scores(outputs, references, measures=("BLEU",), tokenize="none")[0].value
    seen = max(entry["tokens"] for entry in record.train)
    sizes = {"source": len(translator.source), "target": len(translator.target)}
    flops = read_run(RECIPE, changes).model.training_flops(seen, seen, sizes, length=15.0)
    return {
        "system": TITLES[name],
        "BLEU": f"{bleu:.1f}",
        "steps": f"{steps:,}",
        "parameters": f"{(record.parameters or 0) / 1e6:.1f} M",
        "training FLOPs": f"{flops:.1e}",
        "CPU minutes": f"{(record.seconds or 0) / 60:.1f}",
    }


def train(changes: list[str], folder: Path, data: Path) -> None:
    """Run `regard train`, which resumes; a finished run ends at once."""
    command: list[Any] = [sys.executable, "-m", "regard", "train", RECIPE, "--data", data, "--runs", folder.parent]
    for change in changes:
        command += ["--set", change]
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False)
    if done.returncode:
        raise SystemExit(f"{folder.name}: training ended with code {done.returncode}; start again to resume it")


def lines(path: Path) -> list[str]:
    """The lines of a compressed file."""
    return multi30k._lines(path)


if __name__ == "__main__":
    main()
