"""Which attention recalls at which length? Associative recall, each way trained for the same steps: a heat map.

python benchmarks/recall.py [--json FILE] [--picture FILE] [--lengths 16,32,64] [--steps N] [--ways NAMES] [--kept DIR]

· k₃ v₁ · · k₁ v₄ · … k₃ ? → v₁: pairs of key and value among filler, then a key, whose value is asked for at its
position. All ways have two layers over the same convolution, which joins each symbol with its neighbours, so that a
value knows its key; the same width, positions, examples, seed and learning rate. A way that solves the puzzle (99 % of
fresh examples, three times in a row) stops early. The puzzle is that of `task = "solve"`.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from measure import machine, print_table, write_json
from torch import Tensor, nn

from regard.attention.positions.sinusoidal import Sinusoidal
from regard.data.puzzles.recall import Recall
from regard.layers.block import Block
from regard.layers.embedding import Embedding
from regard.layers.feeds.plain import Plain
from regard.layers.mixers.convolution import Convolution
from regard.layers.residual import Residual, deepnorm
from regard.models.bert import Bert
from regard.training.optimizers.muon import Muon

LAYERS, WIDTH, HEADS, ROWS, REACH = 2, 64, 2, 64, 9
CHECK = 50
"""steps between two looks at fresh examples"""
RATIO = {"normalizer": "ratio"}


def ways(length: int) -> dict[str, dict[str, Any]]:
    """The settings of each way for a length."""
    window, some = f"window({REACH})", f"random_blocks(8, 2, {length})"
    return {
        "full": {},
        "window": {"mask": window},
        "BigBird": {"mask": f"{window} | global_tokens(4) | {some}"},
        "Linformer": {"memory": f"compressed(16, {length})"},
        "Performer": {"score": {"name": "kernel", "features": "exponential", "draws": 64}, **RATIO},
        "linear": {"score": "kernel", **RATIO},
        "convolution": {"mixer": {"name": "convolution", "width": 5, "growth": 4}},
        "recurrent": {"mixer": "recurrent"},
    }


class Recaller(nn.Module):
    """Embeddings, a convolution that joins each symbol with its neighbours, layers of one way, and the answer."""

    def __init__(self, puzzle: Recall, settings: dict[str, Any]) -> None:
        super().__init__()
        design = Bert(layers=LAYERS, width=WIDTH, heads=HEADS, norm_place="before", dropout=0.0, **settings)
        self.symbols = Embedding(puzzle.symbols, WIDTH, positions=Sinusoidal())
        self.neighbours = Block(WIDTH, mixer=Convolution(width=3), feed=Plain(2 * WIDTH), residual=Residual())
        self.layers = design.stack(LAYERS, "both", deepnorm(LAYERS))
        self.norm, self.answer = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, puzzle.answers)

    def forward(self, symbols: Tensor) -> Tensor:
        """The logits at the last position, which asks."""
        x = self.layers(self.neighbours(self.symbols(symbols)))
        return self.answer(self.norm(x[:, -1]))


def trained(settings: dict[str, Any], puzzle: Recall, steps: int, rate: float) -> tuple[float, int]:
    """The accuracy on 512 fresh examples, and the steps that were taken."""
    torch.manual_seed(1)
    model = Recaller(puzzle, settings).train()
    optimizers, solved = Muon(learning_rate=rate).build(model), 0
    for step in range(1, steps + 1):
        batch = puzzle.batch(ROWS, 1, step)
        model.zero_grad()
        F.cross_entropy(model(batch.tokens), batch.wanted).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        if step % CHECK == 0:
            solved = solved + 1 if accuracy(model, puzzle, 128, 2, step) >= 0.99 else 0
        if solved == 3:
            break
    return accuracy(model, puzzle, 512, 3), step


@torch.no_grad()
def accuracy(model: Recaller, puzzle: Recall, rows: int, *numbers: int) -> float:
    """The share of right answers."""
    batch = puzzle.batch(rows, *numbers)
    right = model.eval()(batch.tokens).argmax(-1) == batch.wanted
    model.train()
    return right.double().mean().item()


Found = dict[str, dict[int, tuple[float, int]]]


def kept(folder: Path | None, way: str, puzzle: Recall, steps: int, rate: float) -> tuple[float, int]:
    """What was kept of this way and length, or is found now and kept."""
    file = None if folder is None else folder / f"{way}, {puzzle.length}.json"
    if file is not None and file.exists():
        share, taken = json.loads(file.read_text(encoding="utf-8"))
        return float(share), int(taken)
    found = trained(ways(puzzle.length)[way], puzzle, steps, rate)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    return found


def main() -> None:
    """Print, draw and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--picture", type=Path, help="draw the heat map to this file")
    parser.add_argument("--lengths", default="16,32,64")
    parser.add_argument("--pairs", type=int, default=4)
    parser.add_argument("--keys", type=int, default=8)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--rate", type=float, default=6e-3)
    parser.add_argument("--ways", default=",".join(ways(1)))
    parser.add_argument("--kept", type=Path, help="keep what was found in this folder, and train nothing again")
    given = parser.parse_args()
    print(machine())
    found: Found = {}
    for way in given.ways.split(","):
        for length in map(int, given.lengths.split(",")):
            puzzle, began = Recall(length=length, pairs=given.pairs, keys=given.keys), time.process_time()
            share, steps = kept(given.kept, way, puzzle, given.steps, given.rate)
            found.setdefault(way, {})[length] = share, steps
            took = time.process_time() - began
            print(f"{way}, {length}: {share:.1%} after {steps} steps, {took:.0f} s", flush=True)
    rows = [
        {"way": way} | {f"{length:,}": f"{share:.0%} ({steps:,} steps)" for length, (share, steps) in own.items()}
        for way, own in found.items()
    ]
    title = f"Recall of {given.pairs} pairs by length: accuracy, and steps taken"
    print_table(title, rows)
    write_json(given.json, {title: rows})
    if given.picture:
        draw(found, given)


def draw(found: Found, given: argparse.Namespace) -> None:
    """A row for each way, a column for each length."""
    from matplotlib.figure import Figure

    lengths = list(next(iter(found.values())))
    figure = Figure(figsize=(1.6 + 1.15 * len(lengths), 0.8 + 0.42 * len(found)), layout="constrained")
    axes = figure.subplots()
    shares = [[100 * own[length][0] for length in lengths] for own in found.values()]
    seen = axes.imshow(shares, cmap="YlGnBu", vmin=0, vmax=100, aspect="auto")
    for y, own in enumerate(found.values()):
        for x, length in enumerate(lengths):
            share, steps = own[length]
            text = f"{share:.0%}" + (f"\n{steps} steps" if steps < given.steps else "")
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color="white" if share > 0.6 else "black")
    axes.set_xticks(range(len(lengths)), [f"{length:,}" for length in lengths])
    axes.set_yticks(range(len(found)), list(found))
    axes.set_xlabel("symbols in an example")
    axes.set_title(f"Recall of a value among {given.pairs} pairs: right answers, %", fontsize=10)
    figure.colorbar(seen, ax=axes)
    figure.savefig(given.picture, dpi=110)


if __name__ == "__main__":
    main()
