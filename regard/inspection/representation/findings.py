"""What the numbers of a report say, in sentences: a verdict first, then why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Encoded = Mapping[str, Any]


def report_findings(encoders: Sequence[Encoded]) -> list[str]:
    """Sentences on the first encoder; what the others have stands in brackets."""
    first, *others = encoders
    said = [_verdict(first, others), _usefulness(first, others)]
    if first.get("clusters"):
        said += [_clusters(first, others), _geometry(first, others)]
    if first.get("layers"):
        said.append(_layers(first["layers"]))
    if first.get("disentanglement"):
        said.append(_factors(first, others))
    return [sentence for sentence in said if sentence]


def _verdict(first: Encoded, others: Sequence[Encoded]) -> str:
    """Whether the features beat the raw input with the fewest labels, by more than the confidence intervals."""
    raw = next((one for one in others if one["name"] == "raw input"), None)
    if raw is None or not first["probe"]["shots"]:
        return ""
    own, plain = (one["probe"]["shots"][0] for one in (first, raw))
    gain = own["accuracy"] - plain["accuracy"]
    few = f"with {_examples(own['shots'])} of each class"
    if abs(gain) <= own["margin"] + plain["margin"]:
        return f"{few.capitalize()} these features are as useful as the raw input: the difference may be chance."
    word = "more" if gain > 0 else "less"
    return f"{few.capitalize()} these features are {word} useful than the raw input, by {abs(gain):.1f} points."


def _usefulness(first: Encoded, others: Sequence[Encoded]) -> str:
    whole = _beside(first, others, lambda one: f"{one['probe']['accuracy']:.1f} %")
    said = f"Usefulness: a linear probe is right for {whole} with all labels"
    if first["probe"]["shots"]:
        few = _beside(first, others, lambda one: f"{one['probe']['shots'][0]['accuracy']:.1f} %")
        said += f", and for {few} with {_examples(first['probe']['shots'][0]['shots'])} of each class"
    return f"{said}."


def _clusters(first: Encoded, others: Sequence[Encoded]) -> str:
    near = _beside(first, others, lambda one: f"{one['clusters']['knn_accuracy']:.1f} %", "clusters")
    rand = _beside(first, others, lambda one: f"{one['clusters']['adjusted_rand']:.2f}", "clusters")
    return (
        f"Clusters: the 5 nearest neighbors vote right for {near}, and k-means finds the classes with an adjusted Rand "
        f"index of {rand}; 1 is all, 0 chance."
    )


def _geometry(first: Encoded, others: Sequence[Encoded]) -> str:
    cosine = _beside(first, others, lambda one: f"{one['geometry']['mean_cosine']:.2f}", "geometry")
    rank = _beside(
        first, others, lambda one: f"{one['geometry']['effective_rank']:.0f} of {one['width']} directions", "geometry"
    )
    return f"Geometry: two examples have a mean cosine of {cosine}; the vectors use {rank}."


def _layers(accuracies: Sequence[float]) -> str:
    best = max(range(len(accuracies)), key=lambda at: accuracies[at])
    return (
        f"Layers: layer {best + 1} of {len(accuracies)} tells the classes best, {accuracies[best]:.1f} %; "
        f"the first {accuracies[0]:.1f} %, the last {accuracies[-1]:.1f} %."
    )


def _factors(first: Encoded, others: Sequence[Encoded]) -> str:
    gap = _beside(first, others, lambda one: f"{one['disentanglement']['mig']:.2f}", "disentanglement")
    return f"Disentanglement: the mutual information gap of factors is {gap}; 1 is one number for each factor."


def _beside(first: Encoded, others: Sequence[Encoded], show: Callable[[Encoded], str], part: str = "probe") -> str:
    """The first encoder's value, and in brackets the names and values of those that have one too."""
    rest = ", ".join(f"{one['name']} {show(one)}" for one in others if one.get(part))
    return f"{show(first)} ({rest})" if rest else show(first)


def _examples(count: int) -> str:
    return f"{count} labeled example{'' if count == 1 else 's'}"
