"""Fine-tuning: the head alone, low-rank adapters and all weights of one model side by side, on sentences of SST-2.

    regard import FOLDER --out minilm.safetensors
    python benchmarks/finetune.py minilm.safetensors [--ways frozen adapters all] [--json FILE]

Each way is what `regard init --from MODEL --tuning WAY` writes, with one thread and nothing edited but what --set says.
The 6,920 sentences of film reviews, without their phrases, are positive or negative; the table has the accuracy on the
872 by which the best validation is chosen and on the 1,821 test sentences, and the CPU time. An interrupted training is
resumed.
"""

import argparse
import gzip
from pathlib import Path

from advised import advise_and_train
from environments import ROOT, WORK
from measure import machine, print_table, write_json

from regard.decoding.classifier import Classifier
from regard.loading import load
from regard.tasks.classify import Classify
from regard.tasks.task import Evaluation

SHARED = ROOT.parent / "shared" / "data" / "sst2"
WAYS = ["frozen", "adapters", "all"]


def main() -> None:
    """Train each way, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model file, such as regard import writes")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="which weights learn")
    parser.add_argument("--set", nargs="+", default=[], help="settings that differ from the advice")
    parser.add_argument("--data", type=Path, default=SHARED, help="the folder of stsa.binary.train.gz and so on")
    parser.add_argument("--work", type=Path, default=WORK, help="where examples and runs are kept")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    folder = options.work / "finetune"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        write_examples(options.data / f"stsa.binary.{part}.gz", folder / f"{part}.tsv")
    rows = [row(options.model.resolve(), way, folder, options.set) for way in options.ways]
    title = f"SST-2 sentences from {options.model.stem}, accuracy in %"
    print(machine())
    print_table(title, rows)
    write_json(options.json, {title: rows})


def write_examples(path: Path, out: Path) -> None:
    """A label and a sentence a line, "1 a moving film", as two columns with a header."""
    if not path.exists():
        raise SystemExit(f"{path}: SST-2 is not here; name its folder with --data")
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    out.write_text("label\ttext\n" + "".join(line.replace(" ", "\t", 1) + "\n" for line in lines), encoding="utf-8")


def row(model: Path, way: str, folder: Path, sets: list[str]) -> dict[str, str]:
    """Train one way, and evaluate it."""
    init = ["--dev", folder / "dev.tsv", "--from", model, "--tuning", way]
    minutes = advise_and_train(folder / "train.tsv", folder / "runs", way, init, sets)
    classifier = load(folder / "runs" / way, expect=Classifier)
    dev, test = (
        Classify.evaluate(classifier, [folder / f"{part}.tsv"], Evaluation())[0].value for part in ("dev", "test")
    )
    return {
        "what learns": way,
        "dev": f"{dev:.1f}",
        "test": f"{test:.1f}",
        "CPU minutes of this call": f"{minutes:.1f}",
    }


if __name__ == "__main__":
    main()
