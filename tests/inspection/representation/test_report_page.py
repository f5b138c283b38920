"""The page of a report: one file, no script, and texts that stay texts."""

import json
import re
from pathlib import Path

import pytest

from regard.inspection.representation.report_page import report_page
from tests.browser import Open, browser, visit  # noqa: F401 fixtures

ENCODER = {
    "name": "a <b>model</b>",
    "width": 8,
    "probe": {"name": "a <b>model</b>", "accuracy": 90.0,
              "shots": [{"shots": 1, "accuracy": 50.0, "margin": 2.0, "draws": [50.0]}]},
    "usability": {"accuracy": 90.0, "few": 50.0},
    "clusters": {"knn_accuracy": 80.0, "silhouette": 0.4, "adjusted_rand": 0.5},
    "maps": {"t-SNE": [[0.0, 1.0], [1.0, 0.0]]},
    "geometry": {"effective_rank": 5.0, "isotropy": 0.9, "mean_cosine": 0.1, "alignment": 0.5, "uniformity": -2.0},
    "sparsity": {"hoyer": 0.2, "zeros": 0.0, "active": 7.5},
    "interpolation": {"path": ["x: one", "y: </li><script>alert(1)</script>"], "straightness": 0.8,
                      "mean_straightness": 0.7, "gap": 1.2},
    "layers": [60.0, 80.0],
    "disentanglement": {"mig": 0.5, "sap": 0.1, "dci_disentanglement": 0.4, "dci_completeness": 0.3,
                        "dci_informativeness": 0.9, "factor_vae": 0.8, "numbers": [1, 4],
                        "mutual_information": [[0.1, 0.9], [0.8, 0.0]]},
}  # fmt: skip
REPORT = {
    "summary": "2 examples",
    "findings": ["It is <good>."],
    "command": "model data",
    "classes": [f"class {at}" for at in range(14)],
    "factor_names": ["shape", "x"],
    "sample": {"classes": [0, 1], "titles": ["one", "two"]},
    "encoders": [
        ENCODER,
        {**ENCODER, "name": "other", "disentanglement": {}, "layers": [], "usability": {"accuracy": 95.0, "few": None}},
        {"name": "raw input", "probe": {**ENCODER["probe"], "name": "raw input"}, "usability": {"accuracy": 10.0}},
    ],
}


def test_all_parts_are_on_the_page() -> None:
    text = report_page(REPORT)
    for words in ("What they are good for", "Which layer knows it", "How sparse they are", "mutual information",
                  "and 2 more classes", "It is &lt;good&gt;.", "straightness of this path"):  # fmt: skip
        assert words in text, words
    assert "<b>model</b>" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert "alert(1)</script>" not in text
    assert re.search(r"<td class=best>95.0</td>", text)
    held = re.search(r'<script type="application/json" id="report">(.*?)</script>', text)
    assert held is not None and json.loads(held[1]) == json.loads(json.dumps(REPORT))
    assert text.count("<script") == 1 and "http" not in text.replace("http://www.w3.org/2000/svg", "").replace(
        "http-equiv", ""
    )


def test_without_factors_and_layers_their_sections_are_left_out() -> None:
    plain = {**REPORT, "encoders": [{**ENCODER, "disentanglement": {}, "layers": []}]}
    text = report_page(plain)
    shown = text.split("<script")[0].partition("</style>")[2]
    assert "Which layer knows it" not in shown and "disentangled" not in shown


def test_a_browser_shows_it(tmp_path: Path, visit: Open) -> None:  # noqa: F811
    (tmp_path / "report.html").write_text(report_page(REPORT), encoding="utf-8")
    page = visit((tmp_path / "report.html").as_uri())
    assert page.locator("svg circle title").count() > 5
    assert page.locator("section").count() == 7
    assert page.evaluate("getComputedStyle(document.querySelector('section')).borderRadius") == "12px"


@pytest.mark.parametrize("missing", ["maps", "interpolation"])
def test_an_encoder_may_lack_parts(missing: str) -> None:
    encoders = [{key: value for key, value in ENCODER.items() if key != missing}]
    assert "<section>" in report_page({**REPORT, "encoders": encoders})
