from typing import Any

from regard.inspection.representation.findings import report_findings


def encoder(name: str, few: float, margin: float = 2.0, **more: Any) -> dict[str, Any]:
    shots = [{"shots": 1, "accuracy": few, "margin": margin}, {"shots": 4, "accuracy": 90.0, "margin": 1.0}]
    return {"name": name, "width": 8, "probe": {"accuracy": 95.0, "shots": shots}, **more}


LAID = {
    "clusters": {"knn_accuracy": 80.0, "adjusted_rand": 0.5},
    "geometry": {"mean_cosine": 0.25, "effective_rank": 5.6},
    "layers": [50.0, 70.0, 60.0],
    "disentanglement": {"mig": 0.3},
}


def test_the_verdict_weighs_the_confidence_intervals() -> None:
    raw = encoder("raw input", 50.0)
    ends = {60.0: "more useful than the raw input, by 10.0 points.", 40.0: "less useful than the raw input, by 10.0"}
    for few, end in ends.items():
        said = report_findings([encoder("own", few), raw])[0]
        assert said.startswith("With 1 labeled example of each class these features are") and end in said
    assert "the difference may be chance" in report_findings([encoder("own", 54.0), raw])[0]


def test_why_stands_below_with_the_others_in_brackets() -> None:
    verdict, *why = report_findings(
        [encoder("own", 60.0, **LAID), encoder("random weights", 30.0), encoder("raw input", 50.0)]
    )
    assert "more useful" in verdict
    assert why == [
        "Usefulness: a linear probe is right for 95.0 % (random weights 95.0 %, raw input 95.0 %) with all labels, and "
        "for 60.0 % (random weights 30.0 %, raw input 50.0 %) with 1 labeled example of each class.",
        "Clusters: the 5 nearest neighbors vote right for 80.0 %, and k-means finds the classes with an adjusted Rand "
        "index of 0.50; 1 is all, 0 chance.",
        "Geometry: two examples have a mean cosine of 0.25; the vectors use 6 of 8 directions.",
        "Layers: layer 2 of 3 tells the classes best, 70.0 %; the first 50.0 %, the last 60.0 %.",
        "Disentanglement: the mutual information gap of factors is 0.30; 1 is one number for each factor.",
    ]


def test_nothing_is_said_of_what_was_not_measured() -> None:
    alone = encoder("own", 60.0) | {"probe": {"accuracy": 95.0, "shots": []}}
    assert report_findings([alone]) == ["Usefulness: a linear probe is right for 95.0 % with all labels."]
    assert report_findings([alone, encoder("raw input", 50.0) | {"probe": {"accuracy": 90.0, "shots": []}}]) == [
        "Usefulness: a linear probe is right for 95.0 % (raw input 90.0 %) with all labels."
    ]
