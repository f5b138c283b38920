"""Codes that are learned without labels, against closed forms, enumeration and published figures.

python benchmarks/codes.py exact                              a Boltzmann machine's log Z, a linear VAE's likelihood
python benchmarks/codes.py mnist1d MNIST1D.npz                contrastive features, and what a linear probe finds
python benchmarks/codes.py sprites DSPRITES.npz               MIG of a VAE and of a β-VAE on dSprites, at 16 × 16 pixels
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from measure import machine, print_table, write_json
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from regard.data.number_rows import binarized, read_rows
from regard.data.row_sources.handwritten import Handwritten
from regard.learning import train
from regard.metrics.disentanglement import mig
from regard.models.boltzmann import Boltzmann
from regard.models.vae import Vae
from regard.training.progress import Progress


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("exact", "mnist1d", "sprites"))
    parser.add_argument("places", nargs="*", help="MNIST-1D, or dSprites")
    parser.add_argument("--steps", type=int, default=3_000, help="mnist1d and sprites: training steps")
    parser.add_argument("--json", help="also write the table to this file")
    given = parser.parse_args()
    print(machine())
    started = time.process_time()
    match given.what:
        case "exact":
            rows = [partition(), linear()]
        case "sprites":
            rows = [sprites(given.places[0], given.steps, seed) for seed in (1, 2, 3)]
        case _:
            rows = [mnist1d(given.places[0], given.steps)]
    print_table(f"Codes: {given.what}", rows)
    print(f"{time.process_time() - started:.0f} s of CPU time")
    write_json(given.json, {given.what: rows})


def partition(hidden: int = 20, steps: int = 400) -> dict[str, str]:
    """log Z of a machine that learned handwritten digits: annealed importance sampling beside enumeration."""
    torch.manual_seed(1)
    rows = torch.from_numpy(binarized(Handwritten().rows().inputs, "threshold", np.random.default_rng(1)))
    model = Boltzmann(code=hidden).build({"numbers": rows.shape[1]})
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model.losses(rows[torch.randint(len(rows), (100,))])["loss"].mean().backward()
        optimizer.step()
    exact, found = model.exact_log_partition(), model.log_partition(chains=200, steps=2_000)
    return {"what": f"log Z, {hidden} hidden units", "exact": f"{exact:.3f}", "found": f"{found:.3f}",
            "difference": f"{abs(found - exact):.3f} nats"}  # fmt: skip


def linear(code: int = 8, steps: int = 3_000) -> dict[str, str]:
    """A linear VAE, trained, beside probabilistic PCA's likelihood."""
    torch.manual_seed(1)
    rows = Handwritten().rows().inputs[:, 2:60:3].astype(np.float64)
    wanted = PCA(code).fit(rows).score(rows)
    model = Vae.preset("linear", code=code).build({"numbers": rows.shape[1]}).double()
    data = torch.from_numpy(rows)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        optimizer.zero_grad()
        model.losses(data)["loss"].mean().backward()
        optimizer.step()
        schedule.step()
    found = float(model.importance_bound(data, 50).mean())
    return {"what": f"linear VAE, {code} of {rows.shape[1]} numbers", "exact": f"{wanted:.3f}",
            "found": f"{found:.3f}", "difference": f"{abs(found - wanted):.3f} nats"}  # fmt: skip


def mnist1d(path: str, steps: int) -> dict[str, str]:
    """A linear probe of the raw signals, of the untrained network and of the contrastive features."""
    parts = {part: read_rows(Path(path), part) for part in ("train", "test")}  # type: ignore[arg-type]
    settings: dict[str, Any] = {
        "name": "mnist1d",
        "task": "contrast",
        "data": {"train": [str(Path(path).resolve())], "batch": 512},
        "views": {"shift": 0.3, "edges": "wrapped", "trend": "removed", "tilt": 0.5},
        "model": {"name": "contrastive", "code": 512},
        "training": {
            "steps": steps, "validate_every": steps, "checkpoint_every": steps, "lanes": 1,
            "optimizer": {"name": "adam", "learning_rate": 0.002}, "schedule": {"name": "cosine", "warmup": 100},
        },
    }  # fmt: skip
    found = {"raw": _probed(parts["train"].inputs, parts["test"].inputs, parts)}
    for name, count in (("untrained", 1), ("contrastive", steps)):
        with TemporaryDirectory() as folder:
            own = settings | {"training": settings["training"] | {"steps": count, "validate_every": count}}
            own["training"]["schedule"] = {"name": "constant"} if count == 1 else settings["training"]["schedule"]
            codes: Any = train(own, runs=folder, progress=Progress(), expect=object).model
            found[name] = _probed(codes.embed(parts["train"].inputs), codes.embed(parts["test"].inputs), parts)
    return {"signals": f"{len(parts['train']):,}", **{name: f"{value:.1f} %" for name, value in found.items()}}


def sprites(path: str, steps: int, seed: int, beta: float = 4.0) -> dict[str, str]:
    """The mutual information gap of both models with the same seed; pictures of 64 × 64 are averaged to 16 × 16."""
    with np.load(path) as stored:
        bits = np.unpackbits(stored["images_packed"], axis=1).reshape(-1, 16, 4, 16, 4)
        rows, factors = torch.from_numpy(bits.mean((2, 4), dtype=np.float32).reshape(len(bits), -1)), stored["classes"]
    some = np.random.default_rng(seed).permutation(len(rows))[:10_000]
    found = {}
    for name, weight in (("VAE", 1.0), (f"β-VAE, β = {beta:g}", beta)):
        torch.manual_seed(seed)
        model = Vae(code=10, beta=weight).build({"numbers": rows.shape[1]})
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
        for _ in range(steps):
            optimizer.zero_grad()
            model.losses(rows[torch.randint(len(rows), (128,))])["loss"].mean().backward()
            optimizer.step()
        with torch.no_grad():
            codes = model.eval().code(rows[some]).numpy()
        found[name] = f"{mig(codes, factors[some].astype(np.int64)):.3f}"
    return {"seed": str(seed), "pictures": f"{len(rows):,}", "steps": f"{steps:,}", **found}


def _probed(train_codes: Any, test_codes: Any, parts: Any) -> float:
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000)).fit(train_codes, parts["train"].labels)
    return 100 * float(probe.score(test_codes, parts["test"].labels))


if __name__ == "__main__":
    main()
