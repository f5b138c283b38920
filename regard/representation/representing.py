"""The report on a model's features: how useful, clustered, even, sparse, straight and disentangled they are.

>>> report = represent(["minilm.safetensors"], "train.tsv", shots=(1, 4), draws=2, sample=100)
>>> report["encoders"][0]["clusters"]["knn_accuracy"]
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from regard.base.errors import RegardError, UsageError
from regard.data.labeled_inputs import LabeledInputs
from regard.decoding.vectors import PooledVectors, examples_for, vectors_of
from regard.inspection.representation.findings import report_findings
from regard.loading import load
from regard.metrics import clustering, disentanglement, geometry, sparsity
from regard.metrics.feature_checks import Classes, checked_features, numbered_labels, scikit_learn
from regard.metrics.interpolation import mean_straightness, path_between
from regard.metrics.linear_probe import linear_probe
from regard.metrics.selectivity import selectivity, telling_units
from regard.models.headed import Pooling
from regard.representation.probing import (
    EncoderProbe,
    ProbeSplit,
    opened_randomly,
    possible_shots,
    probed,
    raw_features,
    split_inputs,
)
from regard.tasks.task import Say

_FACTOR_ROWS = 2_000


def represent(
    models: Sequence[str | Path],
    data: str | Path,
    *,
    labels: str | Path | None = None,
    pooling: Pooling | None = None,
    shots: Sequence[int] | None = None,
    draws: int = 5,
    sample: int = 1_000,
    seed: int = 1,
    baselines: bool = True,
    device: str = "cpu",
    say: Say = lambda text: None,
) -> dict[str, Any]:
    """Measure the features of models, or vectors (.npy), on labeled examples; the report is JSON values.

    At most `sample` examples are drawn for clusters, geometry and paths. With `baselines`, the first model with random
    weights and the raw input stand beside them.
    """
    scikit_learn()
    opened = {model: _opened(model, device) for model in dict.fromkeys(models)}
    first = next(iter(opened.values()), None)
    examples = examples_for(first, Path(data), None if labels is None else Path(labels))
    _, classes = numbered_labels(examples.labels, len(examples), str(data))
    split = split_inputs(examples, None, seed, str(data))
    some = examples.pick(np.random.default_rng(seed).permutation(len(examples))[:sample])
    chosen = possible_shots(split, shots)
    if len(some) < 4:
        raise RegardError(f"{data}: has {len(examples)} examples; a report needs 4 at least")
    encoders = []
    for name, encode in _encoders(models, opened, examples, pooling, seed, baselines, device):
        say(f"looking at {name}")
        encoders.append(_measured(name, encode, examples, split, some, chosen, draws, seed))
    if baselines:
        say("probing the raw input")
        raw = probed("raw input", *raw_features(split), split, chosen, draws, 100, seed)
        encoders.append({"name": "raw input", "probe": raw.to_dict(), "usability": _usable(raw)})
    numbers, _ = numbered_labels([*some.labels, *classes], len(some) + len(classes))
    return {
        "summary": f"{len(examples):,} examples of {len(classes)} classes in {Path(data).name}; "
        f"maps, clusters and geometry of {len(some):,} of them",
        "findings": report_findings(encoders),
        "command": " ".join(map(str, [*models, data])),
        "classes": list(classes),
        "factor_names": list(examples.factor_names) or _unnamed(examples),
        "sample": {
            "classes": numbers[: len(some)].tolist(),
            "titles": [f"{some.labels[at]}: {some.shown(at)}"[:200] for at in range(len(some))],
        },
        "encoders": encoders,
    }


def _opened(model: str | Path, device: str) -> Any:
    """What gives the vectors; None for a file of vectors."""
    return None if Path(model).suffix == ".npy" else vectors_of(load(model, device=device, expect=object), model)


def _encoders(
    models: Sequence[str | Path],
    opened: Mapping[str | Path, Any],
    examples: LabeledInputs,
    pooling: Pooling | None,
    seed: int,
    baselines: bool,
    device: str,
) -> list[tuple[str, "_Encoder"]]:
    """Each encoder with a name of its own."""
    if not models:
        raise UsageError("represent: give a model, or vectors")
    found: list[tuple[str, _Encoder]] = []
    for model in models:
        place = Path(model)
        name = place.name if place.name not in dict(found) else str(place)
        found.append((name, _Encoder(place, opened[model], examples, pooling)))
    if baselines and found[0][1].opened is not None:
        drawn = opened_randomly(models[0], seed, device)
        found.insert(1, ("random weights", _Encoder(Path(models[0]), drawn, examples, pooling)))
    return found


class _Encoder:
    """The vectors of all examples, computed once."""

    def __init__(self, place: Path, opened: Any, examples: LabeledInputs, pooling: Pooling | None) -> None:
        self.opened, self.pooling = opened, pooling
        if opened is None:
            try:
                vectors = np.load(place, allow_pickle=False)
            except (OSError, ValueError, EOFError) as error:
                raise RegardError(f"{place}: cannot be read as vectors: {error}") from error
            if vectors.ndim != 2 or len(vectors) != len(examples):
                raise RegardError(f"{place}: has {len(vectors):,} vectors, but there are {len(examples):,} labels")
        else:
            vectors = opened.embed(examples.inputs, pooling=pooling)
        self.vectors = checked_features(vectors, f"the features of {place}")

    def layers(self, part: LabeledInputs) -> list[Any]:
        """The features of each layer, where there are any to look at."""
        if not isinstance(self.opened, PooledVectors):
            return []
        try:
            return list(self.opened.embed_layers(part.inputs, pooling=self.pooling))
        except UsageError:  # it has no layers
            return []


def _measured(
    name: str,
    encoder: _Encoder,
    examples: LabeledInputs,
    split: ProbeSplit,
    some: LabeledInputs,
    shots: Sequence[int],
    draws: int,
    seed: int,
) -> dict[str, Any]:
    """All metrics of one encoder."""
    train, test = (encoder.vectors[rows] for rows in split.rows)
    found = probed(name, train, test, split, shots, draws, 100, seed)
    order = np.random.default_rng(seed).permutation(len(examples))[: len(some)]
    vectors, (numbers, _) = encoder.vectors[order], numbered_labels(some.labels, len(some))
    return {
        "name": name,
        "width": encoder.vectors.shape[1],
        "probe": found.to_dict(),
        "usability": _usable(found),
        "clusters": {
            "knn_accuracy": 100 * clustering.knn_accuracy(vectors, numbers),
            "silhouette": clustering.silhouette(vectors, numbers),
            "adjusted_rand": clustering.adjusted_rand(vectors, numbers),
        },
        "maps": _maps(vectors),
        "geometry": {
            "effective_rank": geometry.effective_rank(vectors),
            "isotropy": geometry.isotropy(vectors),
            "mean_cosine": geometry.mean_cosine(vectors),
            "alignment": geometry.alignment(vectors, numbers),
            "uniformity": geometry.uniformity(vectors),
        },
        "sparsity": {
            "hoyer": sparsity.hoyer(vectors),
            "zeros": 100 * sparsity.zero_share(vectors),
            "active": sparsity.active(vectors),
        },
        "selectivity": _selectivity(vectors, numbers),
        "units": _units(vectors, numbers, some),
        "interpolation": _path(vectors, numbers, some),
        "layers": _by_layer(encoder, some, numbers),
        **_factors(encoder.vectors, examples, seed),
    }


def _usable(found: EncoderProbe) -> dict[str, float | None]:
    few = 100 * found.shots[-1].mean if found.shots else None
    return {"accuracy": 100 * found.probe.accuracy, "few": few}


def _maps(vectors: Any) -> dict[str, list[list[float]]]:
    """t-SNE, and UMAP where it is installed."""
    found = {"t-SNE": clustering.scatter(vectors, "tsne")}
    with suppress(ImportError):
        found["UMAP"] = clustering.scatter(vectors, "umap")
    return {name: np.round(places, 3).tolist() for name, places in found.items()}


def _path(vectors: Any, labels: Classes, some: LabeledInputs) -> dict[str, Any]:
    """The way from an example of the first class to the farthest example of another class."""
    other = np.flatnonzero(labels != labels[0])
    end = int(other[np.linalg.norm(vectors[other] - vectors[0], axis=1).argmax()])
    path = path_between(vectors, 0, end)
    steps = list(dict.fromkeys(path.places))
    return {
        "path": [f"{some.labels[at]}: {some.shown(at)}" for at in steps],
        "straightness": path.straightness,
        "mean_straightness": mean_straightness(vectors),
        "gap": path.gap,
    }


def _selectivity(vectors: Any, labels: Classes) -> dict[str, float]:
    shares = selectivity(vectors, labels)
    return {"most": float(shares.max()), "mean": float(shares.mean())}


def _units(vectors: Any, labels: Classes, some: LabeledInputs) -> list[dict[str, Any]]:
    """The units that tell the most of the classes, counted from 1, and the examples that excite them most."""
    names = {int(number): label for number, label in zip(labels, some.labels, strict=True)}
    return [
        {
            "unit": one.unit + 1,
            "selectivity": one.selectivity,
            "favorite": names[one.favorite],
            "strongest": [f"{some.labels[at]}: {some.shown(at)}"[:120] for at in one.strongest],
        }
        for one in telling_units(vectors, labels)
    ]


def _by_layer(encoder: _Encoder, some: LabeledInputs, labels: Classes) -> list[float]:
    """The accuracy of a probe on each layer, half of the sample to learn from, half to test on."""
    half = np.arange(len(some)) % 2 == 0
    if len(np.unique(labels[half])) < 2:
        return []
    return [
        100 * linear_probe(rows[half], labels[half], rows[~half], labels[~half], strengths=(1.0,)).accuracy
        for rows in encoder.layers(some)
    ]


def _factors(vectors: Any, examples: LabeledInputs, seed: int) -> dict[str, Any]:
    """Disentanglement, where the factors are known."""
    if examples.factors is None:
        return {}
    order = np.random.default_rng(seed).permutation(len(vectors))
    half = min(_FACTOR_ROWS, len(order) // 2)
    train, test = order[:half], order[half : 2 * half]
    given = (vectors[train], examples.factors[train], vectors[test], examples.factors[test])
    known = disentanglement.mutual_information(vectors[train], examples.factors[train])
    rows = np.sort(np.argsort(-known.max(1))[:10])
    scores = disentanglement.dci(*given)
    return {
        "disentanglement": {
            "mig": disentanglement.mig(*given[:2]),
            "sap": disentanglement.sap(*given),
            "dci_disentanglement": scores.disentanglement,
            "dci_completeness": scores.completeness,
            "dci_informativeness": scores.informativeness,
            "factor_vae": disentanglement.factor_vae_score(vectors, examples.factors, seed=seed),
            "numbers": (rows + 1).tolist(),
            "mutual_information": known[rows].tolist(),
        }
    }


def _unnamed(examples: LabeledInputs) -> list[str]:
    count = 0 if examples.factors is None else examples.factors.shape[1]
    return [f"factor {at + 1}" for at in range(count)]
