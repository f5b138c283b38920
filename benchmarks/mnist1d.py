"""CNN, RNN or attention? One task, MNIST-1D, as it is and with its positions shuffled: accuracy, path length, cost.

python benchmarks/mnist1d.py MNIST1D.npz [--json FILE] [--picture FILE] [--steps N]

Greydanus and Kobak, 2024, https://arxiv.org/abs/2011.14439: 4,000 series of 40 numbers, ten classes. The first four
rows are the models of its authors; the others put our mixers into the same layers. Shuffling moves the 40 positions
once, the same for all series: what a model loses by it is what it owed to the order.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from measure import machine, print_table, write_json
from torch import Tensor, nn

from regard.attention.multihead import Attention
from regard.attention.part import Sizes
from regard.attention.positions.learned import Learned
from regard.layers.block import Block
from regard.layers.feeds.plain import Plain
from regard.layers.mixers.convolution import Convolution
from regard.layers.mixers.recurrent import Recurrent
from regard.layers.residual import Residual
from regard.layers.stack import Stack

LENGTH, WIDTH = 40, 48
PUBLISHED = {"logistic": (32, 32), "MLP": (68, 68), "CNN": (94, 56), "GRU": (91, 57)}


class Series(nn.Module):
    """The authors' CNN: three convolutions of stride 2, 25 channels, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((1, 5), (25, 3), (25, 3))
        self.taps = nn.ModuleList(nn.Conv1d(given, 25, width, stride=2, padding=1) for given, width in sizes)
        self.last = nn.Linear(125, 10)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        x = x[:, None]
        for taps in self.taps:
            x = taps(x).relu()
        return self.last(x.flatten(1))


class Both(nn.Module):
    """The authors' GRU: 6 units in each direction, and a linear layer over all positions."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(1, 6, batch_first=True, bidirectional=True)
        self.last = nn.Linear(12 * LENGTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        return self.last(self.rnn(x[:, :, None])[0].flatten(1))


class Mixed(nn.Module):
    """Two of our layers with any mixer, and the mean over positions; with positions or without."""

    def __init__(self, mixer: object, layers: int = 2, positions: bool = True) -> None:
        super().__init__()
        self.enter = nn.Linear(1, WIDTH)
        sizes = Sizes(width=WIDTH, heads=1, key_heads=1, query_width=WIDTH, key_width=WIDTH, value_width=WIDTH)
        self.positions = Learned(LENGTH).build(sizes) if positions else None
        residual, feed = Residual(dropout=0.1), Plain(2 * WIDTH)
        self.stack = Stack.of(
            layers,
            lambda at: Block(
                WIDTH, mixer=mixer.in_layer(at) if hasattr(mixer, "in_layer") else mixer, feed=feed, residual=residual
            ),
        )
        self.last = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        h = self.enter(x[:, :, None])
        if self.positions is not None:
            h = self.positions.place(h, torch.arange(LENGTH), "input")
        return self.last(self.stack(h).mean(1))


MODELS: dict[str, tuple[Callable[[], nn.Module], str, str]] = {
    "logistic": (lambda: nn.Linear(LENGTH, 10), "1", "n"),
    "MLP": (
        lambda: nn.Sequential(nn.Linear(LENGTH, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 10)),
        "1",
        "n",
    ),
    "CNN": (Series, "log n", "n"),
    "GRU": (Both, "n", "n"),
    "convolution mixer": (lambda: Mixed(Convolution(width=5, growth=2)), "log n", "n"),
    "recurrent mixer": (lambda: Mixed(Recurrent(), 1), "n", "n"),
    "attention mixer": (lambda: Mixed(Attention(heads=4), 3), "1", "n²"),
    "attention, no positions": (lambda: Mixed(Attention(heads=4), 3, positions=False), "1", "n²"),
}
"""each model, the longest path between two positions, and how its cost grows with the length"""


def accuracy(make: Callable[[], nn.Module], data: dict[str, Tensor], steps: int, name: str) -> tuple[float, float]:
    """Test accuracy in percent, and seconds of processor time."""
    torch.manual_seed(1)
    model, began = make(), time.process_time()
    rate = 3e-3 if isinstance(model, Mixed) else 1e-2
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01 if rate == 3e-3 else 0.0)
    steps = steps if isinstance(model, Mixed) else 2 * steps  # the authors': 6,000 at one rate
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps) if isinstance(model, Mixed) else None
    for _ in range(steps):
        rows = torch.randint(len(data["x"]), (100,))
        x = data["x"][rows]
        if isinstance(model, Mixed):
            x = x + 0.05 * torch.randn_like(x)
        loss = F.cross_entropy(model(x), data["y"][rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()
    model.eval()
    with torch.no_grad():
        best = (model(data["x_test"]).argmax(-1) == data["y_test"]).float().mean().item()
    print(f"{name}: {100 * best:.1f} % in {time.process_time() - began:.0f} s", flush=True)
    return 100 * best, time.process_time() - began


def main() -> None:
    """Print, draw and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="MNIST-1D as an .npz file with x, y, x_test and y_test")
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--picture", type=Path, help="draw accuracies to this file")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--only", help="names of models, separated by commas")
    given = parser.parse_args()
    print(machine())
    with np.load(given.data) as file:
        data = {name: torch.from_numpy(file[name]) for name in ("x", "y", "x_test", "y_test")}
    data = {name: part.float() if name.startswith("x") else part.long() for name, part in data.items()}
    order = torch.from_numpy(np.random.default_rng(0).permutation(LENGTH))
    mixed = data | {name: data[name][:, order] for name in ("x", "x_test")}
    rows, drawn = [], {}
    for name, (make, path, cost) in MODELS.items():
        if given.only and name not in given.only.split(","):
            continue
        (plain, seconds), (shuffled, _) = (accuracy(make, part, given.steps, name) for part in (data, mixed))
        published = PUBLISHED.get(name)
        drawn[name] = (plain, shuffled)
        rows.append(
            {
                "model": name,
                "accuracy": f"{plain:.1f}",
                "shuffled": f"{shuffled:.1f}",
                "published": "" if published is None else f"{published[0]} / {published[1]}",
                "weights": f"{sum(weight.numel() for weight in make().parameters()):,}",
                "longest path": path,
                "cost": cost,
                "seconds": f"{seconds:.0f}",
            }
        )
    print_table("MNIST-1D", rows)
    write_json(given.json, {"MNIST-1D": rows})
    if given.picture:
        draw(drawn, given.picture)


def draw(found: dict[str, tuple[float, float]], out: Path) -> None:
    """Bars: as it is, and shuffled; the published values as lines."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots()
    for at, (name, values) in enumerate(found.items()):
        for side, value in enumerate(values):
            axes.bar(at + 0.4 * side - 0.2, value, 0.38, color=("#3b6fb6", "#c9d6e8")[side])
            axes.text(at + 0.4 * side - 0.2, value + 1, f"{value:.0f}", ha="center", fontsize=8)
            if name in PUBLISHED:
                axes.plot([at + 0.4 * side - 0.39, at + 0.4 * side - 0.01], [PUBLISHED[name][side]] * 2, "k-", lw=1.5)
    axes.set_xticks(range(len(found)), [name.replace(" ", "\n", 1) for name in found], fontsize=8)
    axes.set(ylim=(0, 108), ylabel="test accuracy, %")
    axes.set_title(
        "MNIST-1D: as it is (dark) and with its positions shuffled (light); black lines: published", fontsize=10
    )
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()
