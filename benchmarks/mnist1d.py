"""CNN, RNN or attention? One task, MNIST-1D, as it is and with its positions shuffled: accuracy, path length, cost.

python benchmarks/mnist1d.py MNIST1D.npz [--json FILE] [--picture FILE] [--steps N] [--seeds N]

Greydanus and Kobak, 2024, https://arxiv.org/abs/2011.14439: 4,000 series of 40 numbers, ten classes. The first four
rows are the models of its authors, trained as theirs: 6,000 steps of Adam at one rate, examples in the order of the
file, a look at the test set every 250 steps. Several seeds of them train side by side, and the mean is given. The
others put our mixers into the same layers; nobody gets more data than there is. Shuffling moves the 40 positions, the
same way for all series, and as the authors' own generator does: what a model loses by it is what it owed to the order.
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
from torch.func import stack_module_state

from regard.attention.multihead import Attention
from regard.attention.part import Sizes
from regard.attention.positions.learned import Learned
from regard.layers.block import Block
from regard.layers.feeds.plain import Plain
from regard.layers.mixers.convolution import Convolution
from regard.layers.mixers.recurrent import Recurrent
from regard.layers.residual import Residual
from regard.layers.stack import Stack

LENGTH, WIDTH, ROWS = 40, 32, 100
RATE = 5e-3
SHUFFLED = (
    19, 22, 4, 32, 17, 18, 28, 31, 11, 24, 23, 7, 25, 35, 34, 6, 3, 13, 12, 26,
    1, 27, 20, 10, 36, 9, 37, 29, 8, 30, 5, 38, 16, 15, 33, 39, 14, 21, 0, 2,
)  # fmt: skip
"""the order of positions after `make_dataset` of the package mnist1d with `shuffle_seq`, at its seed of 42"""
PUBLISHED = {"logistic": (32, 32), "MLP": (68, 68), "CNN": (94, 56), "GRU": (91, 57)}

Weights = dict[str, Tensor]
"""the weights of several models of one kind, one beside the other along the first axis"""


def linear(x: Tensor, weights: Weights, name: str = "") -> Tensor:
    """A linear layer of each model."""
    return torch.baddbmm(weights[f"{name}bias"][:, None], x, weights[f"{name}weight"].mT)


def logistic(weights: Weights, x: Tensor) -> Tensor:
    """Logistic regression."""
    return linear(x, weights)


def perceptron(weights: Weights, x: Tensor) -> Tensor:
    """The authors' MLP: two layers of 256 units, as their settings have it, the second with a residual connection."""
    x = linear(x, weights, "0.").relu()
    x = x + linear(x, weights, "1.").relu()
    return linear(x, weights, "2.")


def convolved(weights: Weights, x: Tensor) -> Tensor:
    """The authors' CNN: three convolutions of stride 2, 25 channels, and a linear layer."""
    many, x = len(x), x.transpose(0, 1)
    for at in range(3):
        taps, bias = (weights[f"{at}.{name}"].flatten(0, 1) for name in ("weight", "bias"))
        x = F.conv1d(x, taps, bias, stride=2, padding=1, groups=many).relu()
    return linear(x.unflatten(1, (many, -1)).flatten(2).transpose(0, 1), weights, "3.")


def recurrent(weights: Weights, x: Tensor) -> Tensor:
    """The authors' GRU: 6 units in each direction, and a linear layer over all positions."""
    ends = ("", "_reverse")
    into, within, shift, inner = (
        torch.cat([weights[f"0.{name}_l0{end}"] for end in ends])
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    placed = torch.cat([x, x.flip(-1)]).permute(2, 0, 1)[..., None]
    gates, fresh = (placed * into[:, None, :, 0] + shift[:, None]).split([12, 6], -1)
    state, states = x.new_zeros(2 * len(x), x.shape[1], 6), []
    for gate, new in zip(gates.unbind(), fresh.unbind(), strict=True):
        inward, candidate = torch.baddbmm(inner[:, None], state, within.mT).split([12, 6], -1)
        reset, update = (gate + inward).sigmoid().chunk(2, -1)
        state = torch.lerp((new + reset * candidate).tanh(), state, update)
        states.append(state)
    ahead, back = torch.stack(states, 2).chunk(2)
    return linear(torch.cat([ahead, back.flip(2)], -1).flatten(2), weights, "1.")


def theirs(name: str) -> nn.Module:
    """The weights of one of the authors' models, as torch draws them."""
    made: dict[str, Callable[[], nn.Module]] = {
        "logistic": lambda: nn.Linear(LENGTH, 10),
        "MLP": lambda: nn.Sequential(nn.Linear(LENGTH, 256), nn.Linear(256, 256), nn.Linear(256, 10)),
        "CNN": lambda: nn.Sequential(
            nn.Conv1d(1, 25, 5), nn.Conv1d(25, 25, 3), nn.Conv1d(25, 25, 3), nn.Linear(125, 10)
        ),
        "GRU": lambda: nn.Sequential(nn.GRU(1, 6, bidirectional=True), nn.Linear(12 * LENGTH, 10)),
    }
    return made[name]()


class Mixed(nn.Module):
    """Our layers with any mixer, and the mean over positions; with a learned vector for each position or without."""

    def __init__(self, mixer: object, layers: int, placed: bool = True) -> None:
        super().__init__()
        self.enter = nn.Linear(1, WIDTH)
        sizes = Sizes(width=WIDTH, heads=1, key_heads=1, query_width=WIDTH, key_width=WIDTH, value_width=WIDTH)
        self.positions = Learned(LENGTH).build(sizes) if placed else None
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


THEIRS: dict[str, tuple[Callable[[Weights, Tensor], Tensor], str, str]] = {
    "logistic": (logistic, "1", "n"),
    "MLP": (perceptron, "1", "n"),
    "CNN": (convolved, "log n", "n"),
    "GRU": (recurrent, "n", "n"),
}
OURS: dict[str, tuple[Callable[[], Mixed], str, str]] = {
    "convolution mixer": (lambda: Mixed(Convolution(width=5, growth=2), 3), "log n", "n"),
    "recurrent mixer": (lambda: Mixed(Recurrent(), 1), "n", "n"),
    "attention mixer": (lambda: Mixed(Attention(heads=8, positions="shaw(8)"), 3), "1", "n²"),
    "attention without positions": (lambda: Mixed(Attention(heads=8), 3, placed=False), "1", "n²"),
}
"""each model, the longest path between two positions, and how its cost grows with the length"""

Data = dict[str, Tensor]


def side_by_side(name: str, sets: list[Data], steps: int) -> tuple[list[float], list[float]]:
    """Test accuracies of one of the authors' models on each set, trained side by side from different weights.

    Those at the end, and the best of those after every 250 steps. The examples come in the order of the file, as the
    authors have them.
    """
    torch.manual_seed(1)
    run = THEIRS[name][0]
    weights, _ = stack_module_state([theirs(name) for _ in sets])
    optimizer = torch.optim.Adam(weights.values(), lr=1e-2, fused=True)
    x, y, x_test, y_test = (torch.stack([data[part] for data in sets]) for part in ("x", "y", "x_test", "y_test"))
    best = [0.0] * len(sets)
    for step in range(steps + 1):
        rows = slice(step * ROWS % x.shape[1], step * ROWS % x.shape[1] + ROWS)
        loss = F.cross_entropy(run(weights, x[:, rows]).flatten(0, 1), y[:, rows].flatten(), reduction="sum") / ROWS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 250 == 0:
            with torch.no_grad():
                found = run(weights, x_test).argmax(-1) == y_test
            now = (100 * found.double().mean(1)).tolist()
            best = list(map(max, best, now))
    return now, best


def mixed(name: str, data: Data, steps: int) -> float:
    """The test accuracy of one of ours."""
    torch.manual_seed(1)
    model = OURS[name][0]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps)
    for _ in range(steps):
        rows = torch.randint(len(data["x"]), (ROWS,))
        optimizer.zero_grad()
        F.cross_entropy(model(data["x"][rows]), data["y"][rows]).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        return 100 * (model(data["x_test"]).argmax(-1) == data["y_test"]).double().mean().item()


def read(path: str) -> Data:
    """The series and their classes."""
    with np.load(path) as file:
        data = {name: torch.from_numpy(file[name]) for name in ("x", "y", "x_test", "y_test")}
    return {name: part.float() if name.startswith("x") else part.long() for name, part in data.items()}


def shuffled(data: Data) -> Data:
    """The same with its positions in another order."""
    return data | {name: data[name][:, list(SHUFFLED)] for name in ("x", "x_test")}


def mean(values: list[float]) -> str:
    """A mean with its standard deviation."""
    spread = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}"


def main() -> None:
    """Print, draw and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="MNIST-1D as an .npz file with x, y, x_test and y_test")
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--picture", type=Path, help="draw accuracies to this file")
    parser.add_argument("--steps", type=int, default=1000, help="steps of ours; the authors' have 6,000")
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the authors' models; ours have one")
    parser.add_argument("--only", help="names of models, separated by commas")
    given = parser.parse_args()
    print(machine())
    data = read(given.data)
    rows, drawn = [], {}
    for name, (_, path, cost) in (THEIRS | OURS).items():
        if given.only and name not in given.only.split(","):
            continue
        began = time.process_time()
        if name in THEIRS:
            sets = [data] * given.seeds + [shuffled(data)] * given.seeds
            found, best = side_by_side(name, sets, 6000)
            plain, mingled, model = found[: given.seeds], found[given.seeds :], theirs(name)
            tops = [mean(best[: given.seeds]), mean(best[given.seeds :])]
            drawn[name] = float(np.mean(best[: given.seeds])), float(np.mean(best[given.seeds :]))
        else:
            plain, mingled = ([mixed(name, part, given.steps)] for part in (data, shuffled(data)))
            model, tops = OURS[name][0](), []
            drawn[name] = plain[0], mingled[0]
        published = PUBLISHED.get(name)
        rows.append(
            {
                "model": name,
                "accuracy": mean(plain),
                "shuffled": mean(mingled),
                "best on the way": " / ".join(tops),
                "published": "" if published is None else f"{published[0]} / {published[1]}",
                "weights": f"{sum(weight.numel() for weight in model.parameters()):,}",
                "longest path": path,
                "cost": cost,
                "seconds": f"{time.process_time() - began:.0f}",
            }
        )
        print(" · ".join(rows[-1].values()), flush=True)
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
            inside = {"ha": "center", "va": "top", "fontsize": 8, "color": ("white", "black")[side]}
            axes.text(at + 0.4 * side - 0.2, value - 2, f"{value:.0f}", **inside)
            if name in PUBLISHED:
                axes.plot([at + 0.4 * side - 0.39, at + 0.4 * side - 0.01], [PUBLISHED[name][side]] * 2, "k-", lw=1.5)
    axes.set_xticks(range(len(found)), [name.replace(" ", "\n", 1) for name in found], fontsize=8)
    axes.set(ylim=(0, 108), ylabel="test accuracy, %")
    axes.set_title(
        "MNIST-1D: as it is (dark) and with its positions shuffled (light); the first four at their best on the way; "
        "black lines: published",
        fontsize=9,
    )
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()
