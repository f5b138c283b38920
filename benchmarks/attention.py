"""The attention core beside torch's own kernels, `nn.MultiheadAttention` and x-transformers.

python benchmarks/attention.py [--json FILE] [--quick]
"""

import argparse

import torch
import torch.nn.functional as F
from measure import in_new_process, machine, milliseconds, print_table, spread, take_turns, write_json
from torch import Tensor, nn
from x_transformers.x_transformers import Attention as XAttention

from regard import Attention, attend, masks, normalizers, record, scores
from regard.attention.mask import Mask

WIDTH, HEADS = 512, 8


def kernel(rounds: int) -> list[dict[str, str]]:
    """`attend` on the fused path against a bare call of the kernel."""
    query, key, value = (torch.randn(32, HEADS, 512, 64) for _ in range(3))
    parts = {"score": scores.ScaledDot(), "normalizer": normalizers.Softmax()}
    with torch.no_grad():
        timing = take_turns(
            {
                "attend": lambda: attend(query, key, value, **parts),
                "kernel": lambda: F.scaled_dot_product_attention(query, key, value),
            },
            rounds,
        )
    return [
        {
            "batch × heads × length × width": "32 × 8 × 512 × 64",
            "attend": milliseconds(timing.median("attend")),
            "bare kernel": milliseconds(timing.median("kernel")),
            "attend / kernel": spread(timing.ratio("attend", "kernel")),
        }
    ]


def layers(rounds: int) -> list[dict[str, str]]:
    """Our multi-head layer against theirs, self-attention at width 512 with 8 heads."""
    rows = []
    for length, batch in ((128, 32), (512, 8), (2048, 2)):
        x = torch.randn(batch, length, WIDTH, requires_grad=True)
        ours, torchs = Attention(heads=HEADS).build(WIDTH), nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        theirs = XAttention(dim=WIDTH, heads=HEADS, dim_head=WIDTH // HEADS, flash=True)

        def first(output: Tensor | tuple[Tensor, ...]) -> Tensor:
            return output[0] if isinstance(output, tuple) else output

        runs = {
            "ours": lambda x=x, layer=ours: layer(x),
            "nn.MultiheadAttention": lambda x=x, layer=torchs: first(layer(x, x, x, need_weights=False)),
            "x-transformers": lambda x=x, layer=theirs: first(layer(x)),
        }
        for direction in ("forward", "forward + backward"):
            if direction == "forward":
                for layer in (ours, torchs, theirs):
                    layer.eval()
                with torch.no_grad():
                    timing = take_turns(runs, rounds)
            else:
                for layer in (ours, torchs, theirs):
                    layer.train()
                timing = take_turns(
                    {name: lambda run=run: run().sum().backward() for name, run in runs.items()}, rounds
                )
            rows.append(
                {"length": str(length), "direction": direction}
                | {name: milliseconds(timing.median(name)) for name in runs}
                | {f"ours / {name}": spread(timing.ratio("ours", name)) for name in list(runs)[1:]}
            )
    return rows


class Stack(nn.Module):
    """Six layers of attention and feed-forward, as an encoder has them."""

    def __init__(self) -> None:
        super().__init__()
        self.attentions = nn.ModuleList(Attention(heads=HEADS).build(WIDTH) for _ in range(6))
        self.networks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH)) for _ in range(6)
        )

    def forward(self, x: Tensor) -> Tensor:
        """The last layer's output."""
        for attention, network in zip(self.attentions, self.networks, strict=True):
            x = x + attention(F.layer_norm(x, (WIDTH,)))
            x = x + network(F.layer_norm(x, (WIDTH,)))
        return x


def recording(rounds: int) -> list[dict[str, str]]:
    """One head's weights of one layer, in a model of six."""
    model, x = Stack().eval(), torch.randn(8, 256, WIDTH)

    def recorded() -> None:
        with record(model, "attentions.3", heads=[2]):
            model(x)

    with torch.no_grad():
        timing = take_turns({"recorded": recorded, "not recorded": lambda: model(x)}, rounds)
    return [
        {
            "six layers, batch 8, length 256": "one head of layer 3 recorded",
            "recorded": milliseconds(timing.median("recorded")),
            "not recorded": milliseconds(timing.median("not recorded")),
            "recorded / not": spread(timing.ratio("recorded", "not recorded")),
        }
    ]


LONG = """
import sys, torch
from regard import attend, scores, normalizers
def peak():  # of this process alone, in KiB
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
length, backend = int(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
query, key, value = (torch.randn(1, 1, length, 64) for _ in range(3))
parts = dict(score=scores.ScaledDot(), normalizer=normalizers.Softmax())
with torch.no_grad():
    attend(query[:, :, :64], key[:, :, :64], value[:, :, :64], backend=backend, **parts)
    before = peak()
    output = attend(query, key, value, backend=backend, **parts).output
    after = peak()
    rows = torch.linspace(0, length - 1, 50).long()
    weights = (query[:, :, rows].double() @ key.double().mT / 8).softmax(-1)
    error = (output[:, :, rows].double() - weights @ value.double()).abs().max()
print((after - before) / 1024, after / 1024, float(error))
"""


def long_sequences() -> list[dict[str, str]]:
    """Blockwise at growing lengths, each in a process of its own, so that peak memory is its own."""
    rows = []
    for length in (4096, 8192, 16384, 32768):
        added, peak, error = map(float, in_new_process(LONG, str(length), "blockwise").split())
        rows.append(
            {
                "length": f"{length:,}",
                "memory added": f"{added:.0f} MiB",
                "peak of the process": f"{peak:.0f} MiB",
                "the scores alone would take": f"{length**2 * 4 / 2**20:,.0f} MiB",
                "largest error on 50 rows": f"{error:.1e}",
            }
        )
    return rows


def windows(rounds: int) -> list[dict[str, str]]:
    """A causal window of 128 at growing lengths, forward and backward, where it is skipped what nobody may see."""
    rows = []
    parts = {"score": scores.ScaledDot(), "normalizer": normalizers.Softmax()}
    mask = masks.Causal() & masks.Window(128)
    for length in (1024, 2048, 4096, 8192, 16384):
        sides = [torch.randn(1, 4, length, 64, requires_grad=True) for _ in range(3)]

        def run(backend: str, keep: Mask = mask, sides: list[Tensor] = sides) -> None:
            attend(*sides, keep=keep, backend=backend, **parts).output.sum().backward()

        runs = {"sparse": lambda run=run: run("sparse"), "causal": lambda run=run: run("fused", masks.Causal())}
        if length <= 8192:
            runs["fused"] = lambda run=run: run("fused")
        timing = take_turns(runs, max(1, rounds // 5))
        rows.append(
            {
                "length": f"{length:,}",
                "sparse": milliseconds(timing.median("sparse")),
                "fused with the mask": milliseconds(timing.median("fused")) if "fused" in runs else "",
                "fused, causal without a window": milliseconds(timing.median("causal")),
            }
        )
    return rows


IMPORT = "import time; began = time.perf_counter(); import {0}; print(time.perf_counter() - began)"


def imports(rounds: int) -> list[dict[str, str]]:
    """How long `import regard` takes, and its first use, beside `import torch`."""
    codes = {
        "import torch": IMPORT.format("torch"),
        "import regard": IMPORT.format("regard"),
        "from regard import Attention": IMPORT.format("regard; regard.Attention"),
    }
    took: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(rounds):
        for name, code in codes.items():
            took[name].append(float(in_new_process(code)))
    middle = {name: sorted(times)[len(times) // 2] for name, times in took.items()}
    return [{name: f"{seconds:.2f} s" for name, seconds in middle.items()}]


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--quick", action="store_true", help="a few rounds only, to see that it runs")
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else 15
    torch.manual_seed(0)
    tables = {
        "attend beside the bare kernel": lambda: kernel(rounds),
        "A multi-head layer beside others (width 512, 8 heads)": lambda: layers(rounds),
        "Recording weights": lambda: recording(rounds),
        "Blockwise, 1 head of width 64": long_sequences,
        "Causal and window(128), 4 heads of width 64, forward and backward": lambda: windows(rounds),
        "Importing": lambda: imports(min(rounds, 7)),
    }
    results = {}
    print(machine())
    for title, table in tables.items():
        results[title] = table()
        print_table(title, results[title])
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
