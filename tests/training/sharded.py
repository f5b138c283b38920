"""Trains a tiny Transformer whose weights two ranks share out (FSDP2), and compares it with one process.

Prints, as JSON, for each optimizer: the largest difference of a weight, and the largest share of a rank in the bytes of
weights and moments; then how a run ends that two ranks began and one process or three ranks went on with; then, in
float32 and float64 with Adam's usual epsilon, the difference of the weights that have a gradient, of those that have
only its rounding errors, and of the outputs.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.base.joining import joined_ranks
from regard.models.transformer import Transformer
from regard.runs.artifact import Artifact, load_weights, split_ties
from regard.runs.folder import RunFolder
from regard.training.optimizer import moments
from regard.training.optimizers.adam import Adam
from regard.training.optimizers.muon import Muon
from regard.training.progress import Silent
from regard.training.sharded_tensor import own_rows
from regard.training.trainer import Trainer
from tests.training import examples
from tests.training.together import together, warm

LANES = 6
CAREFUL: dict[str, Any] = {"learning_rate": 0.001, "epsilon": 1e-6}
"""with a smaller epsilon, Adam would take rounding errors for gradients where those are zero, as of biases of keys"""
OPTIMIZERS = {"adam": Adam(**CAREFUL), "muon": Muon(**CAREFUL), "plain": Adam(learning_rate=0.001)}
KINDS = (torch.float32, torch.float64)
NOISE = 1e-7
"""A float32 gradient whose root mean square is below this is rounding, as of biases of keys, which softmax ignores."""


def train(folder: Path, steps: int, optimizer: str, distribution: str, recompute: str = "nothing") -> None:
    """One rank's training; also writes how many bytes it holds."""
    model = built(recompute)
    settings: dict[str, Any] = {"steps": steps, "lanes": LANES, "metric": "loss", "clip": 0.5, "checkpoint_every": 50}
    settings |= {"optimizer": OPTIMIZERS[optimizer], "distribution": distribution}
    with joined_ranks() as ranks:
        trainer = Trainer(
            model,
            examples.Made(),
            examples.settings(**settings),
            examples.run_folder(folder),
            objective=examples.measured(),
            validate=examples.validating(examples.batch(99, 0), examples.batch(99, 1)),
            progress=Silent(),
            artifact=Artifact(config={"model": {"name": "tiny"}}, task="translate", sizes={}),
            ranks=ranks,
        )
        trainer.run()
        held = [*model.parameters(), *moments(trainer.optimizers, model).values()]
        (folder / f"bytes-{ranks.rank}").write_text(str(sum(own_rows(tensor).nbytes for tensor in held)))


def built(recompute: str = "nothing") -> Any:
    torch.manual_seed(1)
    sizes = {"width": 16, "feedforward": 32, "heads": 2, "dropout": 0.3, "recompute": recompute}
    return Transformer(encoder_layers=1, decoder_layers=2, **sizes).build(examples.SIZES)  # type: ignore[arg-type]


def weights(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return RunFolder(folder).checkpoints.read(step).part("model")


def difference(one: Path, other: Path, step: int) -> float:
    both = weights(one, step), weights(other, step)
    return max(float((tensor - both[1][name]).abs().max()) for name, tensor in both[0].items())


def compared(home: Path, optimizer: str, steps: int) -> dict[str, float]:
    """Two ranks with shards, and recomputed layers, against one process."""
    train(home / f"{optimizer}-one", steps, optimizer, "replicas")
    codes = together(partial(train, home / f"{optimizer}-two", steps, optimizer, "shards", "layers"), 2)
    if any(codes):
        raise SystemExit(f"{optimizer}: two ranks with shards ended with {codes}")
    whole = int((home / f"{optimizer}-one" / "bytes-0").read_text())
    held = max(int((home / f"{optimizer}-two" / f"bytes-{rank}").read_text()) for rank in range(2))
    return {
        "difference": difference(home / f"{optimizer}-one", home / f"{optimizer}-two", steps),
        "share": held / whole,
    }


def resumed(home: Path, steps: int) -> dict[str, float]:
    """Begun by two ranks with shards; gone on with by three, and by one process with all weights."""
    found = {}
    for size, kind in ((3, "shards"), (1, "replicas")):
        folder = home / f"resumed-{size}"
        codes = together(partial(train, folder, steps - 2, "muon", "shards"), 2)
        codes += together(partial(train, folder, steps, "muon", kind), size)
        if any(codes):
            raise SystemExit(f"resumed with {size}: ended with {codes}")
        found[str(size)] = difference(home / "muon-one", folder, steps)
    return found


def rounding(home: Path, steps: int, kind: torch.dtype) -> dict[str, float]:
    """Two ranks with shards against one process, told apart by whether a weight has a gradient at all."""
    torch.set_default_dtype(kind)
    one, two = (home / f"{kind}-{name}" for name in ("one", "two"))
    train(one, steps, "plain", "replicas")
    codes = together(partial(train, two, steps, "plain", "shards", "layers"), 2)
    if any(codes):
        raise SystemExit(f"{kind}: two ranks with shards ended with {codes}")
    squares = RunFolder(one).checkpoints.read(steps).part("optimizer")
    found = {"with a gradient": 0.0, "without": 0.0, "count without": 0.0}
    ours, theirs = weights(one, steps), weights(two, steps)
    for name, tensor in ours.items():
        bias = name.endswith("bias") and ".projections." in name
        noise = squares[f"exp_avg_sq/{name}"].sqrt() < NOISE if bias else torch.zeros_like(tensor, dtype=torch.bool)
        off = (tensor - theirs[name]).abs()
        for part, own in (("with a gradient", off[~noise]), ("without", off[noise])):
            found[part] = max(found[part], float(own.max()) if len(own) else 0.0)
        found["count without"] += int(noise.sum())
    found["outputs"] = float((outputs(ours) - outputs(theirs)).abs().max())
    torch.set_default_dtype(torch.float32)
    return found


def outputs(given: dict[str, torch.Tensor]) -> torch.Tensor:
    """The logits of the model with these weights."""
    model, item = built().eval(), examples.batch(99, 0)
    _, ties = split_ties(model.state_dict())
    load_weights(model, given | {name: given[first] for name, first in ties.items()})
    with torch.no_grad():
        found: torch.Tensor = model.output(model.hidden(item.source, item.source_lengths, item.target_in))
    return found


def main(home: Path, steps: int) -> None:
    warm()
    found: dict[str, Any] = {optimizer: compared(home, optimizer, steps) for optimizer in ("adam", "muon")}
    found["resumed"] = resumed(home, steps)
    sys.stdout.write(json.dumps(found | {str(kind): rounding(home, steps, kind) for kind in KINDS}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
