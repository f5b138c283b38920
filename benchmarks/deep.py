"""How deep can it be? Loss curves of narrow language models of 12 to 200 layers, by how their residuals are joined.

python benchmarks/deep.py [TEXT] [--json FILE] [--picture FILE] [--steps N] [--layers 12,50,100,200] [--kept FOLDER]

A chain of letters, each followed by one and the same letter nine times of ten; or the letters of a text, which take
more steps. No warm-up, one learning rate for all layers, which falls to 0; embeddings and output have a higher one, so
that few steps suffice. All start with Xavier's matrices, as the Transformer and the models of DeepNet do, with
DeepNorm's factor where it is used. With plain post-norm the positions at the top of a deep stack then are all alike,
and a stack that failed is no better than the frequencies of letters.
Wang et al., DeepNet, 2022, https://arxiv.org/abs/2203.00555
"""

import argparse
import json
import math
import re
import time
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from measure import machine, print_table, write_json

from regard.layers.initialize import xavier
from regard.models.gpt import Gpt

WAYS: dict[str, dict[str, Any]] = {
    "DeepNorm": {"norm_place": "after", "residual_scale": "deepnorm"},
    "post-norm": {"norm_place": "after"},
    "pre-norm": {"norm_place": "before"},
    "gate (ReZero)": {"norm": "none", "residual_gate": "scalar"},
}
LENGTH, ROWS, WIDTH = 32, 8, 32
ENDS = 2e-2
"""the learning rate of embeddings and output"""


def curve(text: torch.Tensor, layers: int, settings: dict[str, Any], steps: int, rate: float) -> list[float]:
    """The loss of each step; it ends where training diverges."""
    torch.manual_seed(1)
    shape: dict[str, Any] = {"layers": layers, "width": WIDTH, "feedforward": 2 * WIDTH, "heads": 2}
    design = Gpt(**shape, activation="relu", positions=f"learned({LENGTH})", dropout=0.0, **settings)
    model = design.build({"text": int(text.max()) + 1}).train()
    if design.residual_scale != "deepnorm":  # which has its own
        xavier(model.decoder)
    inside = set(model.decoder.parameters())
    ends = [weight for weight in model.parameters() if weight not in inside]
    groups = [{"params": list(inside), "lr": rate}, {"params": ends, "lr": ENDS}]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
    draw, losses = torch.Generator().manual_seed(2), []
    for _ in range(steps):
        starts = torch.randint(len(text) - LENGTH - 1, (ROWS, 1), generator=draw)
        rows = text[starts + torch.arange(LENGTH + 1)]
        loss = F.cross_entropy(model(None, None, rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            break
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return losses


def kept(folder: Path | None, text: torch.Tensor, way: str, layers: int, steps: int, rate: float) -> list[float]:
    """A curve that was kept, or a new one, which is kept."""
    file = None if folder is None else folder / f"{way}, {layers} layers, {steps} steps, {rate}.json"
    if file is not None and file.exists():
        return list(json.loads(file.read_text(encoding="utf-8")))
    losses = curve(text, layers, WAYS[way], steps, rate)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(losses), encoding="utf-8")
    return losses


def chain(letters: int = 26, many: int = 100_000, sure: float = 0.9) -> torch.Tensor:
    """Numbers of letters: each is followed by its successor with the probability `sure`, else by any."""
    draw = torch.Generator().manual_seed(3)
    successor = torch.randperm(letters, generator=draw).tolist()
    follows = torch.rand(many, generator=draw) < sure
    others = torch.randint(letters, (many,), generator=draw).tolist()
    found = others[:1]
    for follow, other in zip(follows.tolist(), others, strict=True):
        found.append(successor[found[-1]] if follow else other)
    return torch.tensor(found) + 4


def letters_of(content: str) -> torch.Tensor:
    """Numbers of lower-cased letters; all between words is one space."""
    simple = re.sub(r"[\W\d_]+", " ", content.lower())
    places = {letter: at for at, letter in enumerate(sorted(set(simple)), start=4)}
    return torch.tensor([places[letter] for letter in simple])


def main() -> None:
    """Print, draw and keep the curves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, nargs="?", help="the letters of this text, instead of a chain of letters")
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--picture", type=Path, help="draw the curves to this file")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--layers", default="12,50,100,200")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--kept", type=Path, help="keep the curves in this folder, and train none again")
    given = parser.parse_args()
    print(machine())
    text = chain() if given.text is None else letters_of(given.text.read_text(encoding="utf-8")[:200_000])
    shares = torch.bincount(text).double() / len(text)
    blind = torch.special.entr(shares).sum().item()
    print(f"frequencies of letters alone: {blind:.3f}")
    depths = [int(one) for one in given.layers.split(",")]
    found: dict[str, dict[int, list[float]]] = {}
    for way in given.ways.split(","):
        for layers in depths:
            began = time.process_time()
            losses = kept(given.kept, text, way, layers, given.steps, given.rate)
            found.setdefault(way, {})[layers] = losses
            print(f"{way}, {layers} layers: {ending(losses):.3f} in {time.process_time() - began:.0f} s", flush=True)
    rows = [
        {"residuals": way} | {f"{layers} layers": f"{ending(own[layers]):.3f}" for layers in depths}
        for way, own in found.items()
    ]
    title = f"Loss after {given.steps} steps (mean of the last tenth; frequencies alone: {blind:.3f})"
    print_table(title, rows)
    write_json(given.json, {title: rows})
    if given.picture:
        draw(found, blind, given.picture)


def ending(losses: list[float]) -> float:
    """The mean of the last tenth."""
    last = losses[-max(1, len(losses) // 10) :]
    return sum(last) / len(last)


def draw(found: dict[str, dict[int, list[float]]], blind: float, out: Path) -> None:
    """A panel for each way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(found), 3.4), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
    depths = sorted({layers for own in found.values() for layers in own})
    shades = dict(zip(depths, ("#9ecae1", "#6baed6", "#2171b5", "#08306b"), strict=False))
    for axes, (way, own) in zip(panels, found.items(), strict=True):
        for layers, losses in own.items():
            width = max(1, len(losses) // 20)
            smooth = [
                sum(losses[max(0, at - width) : at + 1]) / (at + 1 - max(0, at - width)) for at in range(len(losses))
            ]
            axes.plot(smooth, color=shades.get(layers), label=f"{layers} layers", lw=1.4)
        axes.axhline(blind, color="#888888", ls=":", lw=1.2, label="frequencies alone")
        axes.set(title=way, xlabel="steps")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("loss (nats a letter)")
    panels[0].legend(fontsize=8)
    figure.savefig(out, dpi=110)


if __name__ == "__main__":
    main()
