"""What a size costs: training over width, depth, vocabulary and length; translating over sentences at once and beam.

    python benchmarks/cost.py [--model FILE] [--picture docs/pictures/cost.png] [--json FILE]

Each size is trained for a few steps by our own trainer on made-up batches of 4,096 target tokens, taking turns with the
matrix products of the same step alone, which are the limit (`products.py`). All other sizes are those of
Transformer-Tiny. Translating is done with a trained model, on sentences of middling length.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import multi30k
import numpy as np
from contestants import Contestant, rounds
from environments import ROOT, WORK, python_of
from measure import machine, print_table, quartiles, write_json
from translate import trained

from regard.runs.folder import model_file

TOKENS = 4096
VOCABULARY, LENGTH = 8000, 16
AXES = {
    "width": (64, 128, 256, 512),
    "layers": (1, 2, 4, 8),
    "vocabulary": (1000, 4000, 16000, 64000),
    "length": (8, 32, 128, 512),
}
BATCHES, BEAMS = (1, 4, 16, 64, 256), (1, 5, 10)
Row = dict[str, Any]


def main() -> None:
    """Print the tables, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a model to translate with; trained by the recipe unless given")
    parser.add_argument("--steps", type=int, default=800, help="how long to train where no model is given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--axes", nargs="*", default=[*AXES, "decoding"], help="what to vary")
    parser.add_argument("--data", type=Path, help="the folder of Multi30k; ../shared/data/multi30k unless given")
    parser.add_argument("--work", type=Path, default=WORK, help="where environments and models are kept")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "pictures" / "cost.png")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    print(machine())
    measured: dict[str, list[Row]] = {}
    for axis in AXES:
        if axis in options.axes:
            title = f"Training over {axis}"
            measured[title] = [train_point(axis, size, options.work, options.rounds) for size in AXES[axis]]
            print_table(title, [written(row) for row in measured[title]])
    if "decoding" in options.axes:
        data = multi30k.data_folder(options.data)
        model = model_file(options.model or trained(options.work, data, options.steps))
        title = "Translating over sentences at once and beam"
        measured[title] = decode_points(model, data, options.work, options.rounds)
        print_table(title, [written(row) for row in measured[title]])
    draw(measured, options.picture)
    write_json(options.json, {title: [written(row) for row in rows] for title, rows in measured.items()})


def train_point(axis: str, size: int, work: Path, turns: int) -> Row:
    """Tokens/s and memory of training at one size, beside the products alone."""
    sizes: dict[str, int] = {}
    if axis == "width":
        sizes = {"width": size, "feedforward": 2 * size}
    if axis == "layers":
        sizes = {"encoder_layers": size, "decoder_layers": size}
    length = size if axis == "length" else LENGTH
    file = made_up(work, size if axis == "vocabulary" else VOCABULARY, length)
    python = python_of("regard", work)
    ways: dict[str, tuple[str, ...]] = {
        "ours": ("train_ours.py",),
        "together": ("train_products.py", "together"),
        "apart": ("train_products.py", "apart"),
    }
    running: dict[str, Contestant] = {}
    try:
        for name, (script, *more) in ways.items():
            running[name] = Contestant(name, python, script, str(file), *more, json.dumps(sizes), work=work)
        answers = rounds(running, [{"do": "steps", "count": 1}] * (turns + 1), warm_up=1)
        peak = running["ours"].peak_mb()
    finally:
        for one in running.values():
            one.stop()
    speed = {name: quartiles([one["tokens"] / one["seconds"] for one in answers[name]])[0] for name in ways}
    limit = max(speed["together"], speed["apart"])
    return {axis: size, "target tokens/s": speed["ours"], "limit": limit, "peak memory": peak}


def made_up(work: Path, vocabulary: int, length: int) -> Path:
    """Batches of random tokens, all sentences of one length."""
    path = work / "made-up.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_from, arrays = np.random.default_rng(1), {"vocabulary": np.array(vocabulary)}
    pairs = max(1, TOKENS // length)
    for at in range(4):
        source, target = (draw_from.integers(4, vocabulary, (pairs, length)) for _ in range(2))
        lengths = np.full(pairs, length)
        before = np.concatenate([np.full((pairs, 1), 2), target[:, :-1]], 1)
        named = {"source": source, "source_lengths": lengths, "target_in": before, "target_out": target}
        arrays |= {f"{name}/{at}": array for name, array in (named | {"target_lengths": lengths}).items()}
    np.savez(path, **arrays)
    return path


def decode_points(model: Path, data: Path, work: Path, turns: int) -> list[Row]:
    """Sentences/s for every size of group and every beam, beside the products alone."""
    text = data / "test_2016_flickr.lc.norm.tok.en.gz"
    driver = Contestant("decoding", python_of("regard", work), "cost_decode.py", str(model), str(text), work=work)
    rows = []
    try:
        for beam in BEAMS:
            for batch in BATCHES:
                answers = [driver.ask("group", batch=batch, beam=beam) for _ in range(turns + 1)][1:]
                speed, limit = (quartiles([batch / one[name] for one in answers])[0] for name in ("seconds", "limit"))
                rows.append({"beam": beam, "sentences at once": batch, "sentences/s": speed, "limit": limit})
    finally:
        driver.stop()
    return rows


def written(row: Row) -> dict[str, str]:
    """A row for a table."""
    found = {name: f"{value:,.0f}" for name, value in row.items()}
    speed = row.get("target tokens/s") or row["sentences/s"]
    return found | {"share of the limit": f"{100 * speed / row['limit']:.0f} %"}


def draw(measured: dict[str, list[Row]], path: Path) -> None:
    """The tables as curves; the limit is dashed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 9), layout="constrained")
    above, below = figure.subfigures(2, height_ratios=[2, 1])
    plots = above.subplots(2, len(AXES), sharex="col", sharey="row")
    for column, axis in enumerate(AXES):
        rows = measured.get(f"Training over {axis}", [])
        sizes = [row[axis] for row in rows]
        speed, memory = plots[:, column]
        speed.loglog(sizes, [row["target tokens/s"] for row in rows], "o-", label="training")
        speed.loglog(sizes, [row["limit"] for row in rows], "k--", label="matrix products alone")
        memory.semilogx(sizes, [row["peak memory"] for row in rows], "o-", color="tab:green")
        memory.set_xticks(sizes, [f"{size:,.0f}" for size in sizes], minor=False)
        memory.set_xlabel("layers on each side" if axis == "layers" else axis)
        memory.set_ylim(0, None)
        for plot in (speed, memory):
            plot.minorticks_off()
            plot.grid(alpha=0.3)
    for row, label in enumerate(("target tokens/s", "peak memory, MiB")):
        plots[row, 0].set_ylabel(label)
        plots[row, 0].yaxis.set_major_formatter("{x:,.0f}")
    plots[0, 0].set_yticks([1000, 2000, 5000, 10000, 20000])
    plots[0, 0].legend(frameon=False)
    decoded = below.subplots()
    rows = measured.get("Translating over sentences at once and beam", [])
    for at, beam in enumerate(BEAMS):
        mine = [row for row in rows if row["beam"] == beam]
        groups = [row["sentences at once"] for row in mine]
        decoded.loglog(groups, [row["sentences/s"] for row in mine], "o-", color=f"C{at}", label=f"beam {beam}")
        decoded.loglog(
            groups, [row["limit"] for row in mine], "--", color=f"C{at}", label=f"beam {beam}: products alone"
        )
    decoded.set_xticks(BATCHES, [str(size) for size in BATCHES])
    decoded.set_yticks([20, 50, 100, 200, 500, 1000])
    decoded.yaxis.set_major_formatter("{x:,.0f}")
    decoded.minorticks_off()
    decoded.set_xlabel("sentences translated at once")
    decoded.set_ylabel("sentences/s")
    decoded.grid(alpha=0.3, which="both")
    if rows:
        decoded.legend(frameon=False, ncols=len(BEAMS))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
