"""The report on features as one page that opens offline: what they are good for and how they lie.

The page has no script. Its numbers also stand in it as JSON, inside a script element that no browser runs.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from regard.inspection.page.standalone import PAGE, as_data
from regard.inspection.representation.metric_notes import NOTES, best_of, shown_value
from regard.inspection.representation.svg import Curve, hue, legend, plot_curves, plot_points, plot_shades

_MOST_NAMED = 12
_STYLE = """
body { font: 15px/1.55 var(--sans); color: var(--ink); background: var(--ground); margin: 0; }
main { max-width: 1060px; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
h3 { font-size: .95rem; margin: .2rem 0; } p { max-width: 46rem; } .quiet, caption, dt { color: var(--quiet); }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 12px; padding: .4rem 1.3rem 1.2rem;
  margin: 1.2rem 0; box-shadow: var(--shadow); overflow-x: auto; } section h2 { margin-top: .8rem; }
svg { max-width: 100%; height: auto; } svg text { font: 12px var(--sans); fill: var(--quiet); }
.grid line { stroke: var(--line); } .legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .85rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top; }
th, td:first-child { white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
td.words { text-align: left; color: var(--quiet);
  font-size: .85rem; min-width: 17rem; } th.words { text-align: left; }
td.best { font-weight: 700; color: var(--accent); }
.side { display: flex; flex-wrap: wrap; gap: 1.4rem; } .side figure { margin: 0; }
ol { padding-left: 1.4rem; } li { margin: .15rem 0; } details { margin-top: .6rem; }
"""


def report_page(report: Mapping[str, Any]) -> str:
    """The page of a report, as `representing.represent` gives it."""
    style = (PAGE / "colors.css").read_text(encoding="utf-8") + _STYLE
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    encoders: Sequence[Mapping[str, Any]] = report["encoders"]
    title = f"Features of {encoders[0]['name']}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="quiet">{escape(report["summary"])}</p>',
        _found(report["findings"]),
        _section("What they are good for", _usability(encoders), _table(encoders, "usability")),
        _section("How they cluster", _maps(report), _table(encoders, "clusters")),
        _section("Which layer knows it", _layers(encoders), "") if any(one.get("layers") for one in encoders) else "",
        _section("What single units respond to", _units(encoders), _table(encoders, "selectivity"))
        if any(one.get("units") for one in encoders)
        else "",
        _section("How they fill their space", "", _table(encoders, "geometry")),
        _section("How sparse they are", "", _table(encoders, "sparsity")),
        _section("What lies between two examples", _paths(encoders), _table(encoders, "interpolation")),
        _disentangled(report, encoders),
        f'<p class="quiet">Made by regard represent {escape(report["command"])}</p>',
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><main>{''.join(parts)}</main>"
        f'<script type="application/json" id="report">{as_data(report)}</script></body></html>\n'
    )


def _found(sentences: Sequence[str]) -> str:
    """The findings: a word before a colon says what a sentence is about."""
    parts = (sentence.partition(": ") for sentence in sentences)
    return "".join(
        f"<p><b>{escape(about)}</b>: {escape(said)}</p>" if said and " " not in about else f"<p>{escape(sentence)}</p>"
        for sentence, (about, _, said) in zip(sentences, parts, strict=True)
    )


def _section(title: str, *content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{''.join(content)}</section>"


def _usability(encoders: Sequence[Mapping[str, Any]]) -> str:
    """Few-shot curves."""
    probes = [one["probe"] for one in encoders if one.get("probe")]
    ticks = [*(str(shot["shots"]) for shot in probes[0]["shots"]), "all"]
    curves = [
        Curve(
            one["name"],
            [*(shot["accuracy"] for shot in one["shots"]), one["accuracy"]],
            [*(shot["margin"] for shot in one["shots"]), 0.0],
            at,
        )
        for at, one in enumerate(probes)
    ]
    words = (
        "The accuracy in percent of a linear classifier that sees the features alone, with so many labeled examples of "
        "each class, drawn several times (the band is the 95 % interval of the mean), and with all of them."
    )
    return f"<p>{words}</p>" + plot_curves(curves, ticks, "labeled examples of each class")


def _maps(report: Mapping[str, Any]) -> str:
    """A map of the examples for each encoder and method."""
    figures = []
    for one in report["encoders"]:
        for method, places in (one.get("maps") or {}).items():
            picture = plot_points(places, report["sample"]["classes"], report["sample"]["titles"])
            figures.append(f"<figure><h3>{escape(one['name'])}, {escape(method)}</h3>{picture}</figure>")
    names = report["classes"]
    shown = legend([(name, hue(at)) for at, name in enumerate(names[:_MOST_NAMED])])
    more = f'<p class="quiet">and {len(names) - _MOST_NAMED} more classes</p>' if len(names) > _MOST_NAMED else ""
    words = "Each point is an example, colored by its class; near points have near features. Point at one to read it."
    return f'<p>{words}</p><div class="side">{"".join(figures)}</div>{shown}{more}'


def _layers(encoders: Sequence[Mapping[str, Any]]) -> str:
    found = [(at, one) for at, one in enumerate(encoders) if one.get("layers")]
    ticks = [str(number + 1) for number in range(max(len(one["layers"]) for _, one in found))]
    curves = [Curve(one["name"], one["layers"], (), at) for at, one in found]
    return "<p>The accuracy of a linear probe on the pooled output of each layer.</p>" + plot_curves(
        curves, ticks, "layer"
    )


def _units(encoders: Sequence[Mapping[str, Any]]) -> str:
    """The most selective units of each encoder, with the examples that excite them most."""
    figures = []
    for one in encoders:
        rows = "".join(
            f"<tr><td>{unit['unit']}</td><td>{unit['selectivity']:.2f}</td><td>{escape(unit['favorite'])}</td>"
            f'<td class="words">{"<br>".join(map(escape, unit["strongest"]))}</td></tr>'
            for unit in one.get("units") or ()
        )
        head = "<tr><th>unit</th><th>η²</th><th>class</th><th class=words>strongest examples</th></tr>"
        if rows:
            figures.append(
                f"<figure><h3>{escape(one['name'])}</h3><table><thead>{head}</thead><tbody>{rows}</tbody></table></figure>"
            )
    words = (
        "The units (numbers of a vector) that tell the most of the classes: the share of their variance that lies "
        "between classes (η²), the class with the highest mean, and the examples that excite them most."
    )
    return f'<p>{words}</p><div class="side">{"".join(figures)}</div>'


def _paths(encoders: Sequence[Mapping[str, Any]]) -> str:
    figures = []
    for one in encoders:
        path = (one.get("interpolation") or {}).get("path")
        if path:
            steps = "".join(f"<li>{escape(text)}</li>" for text in path)
            figures.append(f"<figure><h3>{escape(one['name'])}</h3><ol>{steps}</ol></figure>")
    words = "The nearest example at each step of a straight line from one example to another."
    return f'<p>{words}</p><div class="side">{"".join(figures)}</div>'


def _disentangled(report: Mapping[str, Any], encoders: Sequence[Mapping[str, Any]]) -> str:
    if not any(one.get("disentanglement") for one in encoders):
        return ""
    figures = []
    for one in encoders:
        table = (one.get("disentanglement") or {}).get("mutual_information")
        if table:
            rows = [f"number {at}" for at in (one["disentanglement"]["numbers"])]
            most = max(max(row) for row in table)
            shades = plot_shades(rows, report["factor_names"], table, most)
            figures.append(f"<figure><h3>{escape(one['name'])}</h3>{shades}</figure>")
    words = "The mutual information of each number and each factor, in nats; best is one dark cell in a row."
    return _section(
        "Whether factors are disentangled",
        f'<p>{words}</p><div class="side">{"".join(figures)}</div>',
        _table(encoders, "disentanglement"),
    )


def _table(encoders: Sequence[Mapping[str, Any]], part: str) -> str:
    """The metrics of a part, a column for each encoder that has them; the best is marked."""
    own = [one for one in encoders if one.get(part)]
    if not own:
        return ""
    head = "".join(f"<th>{escape(one['name'])}</th>" for one in own)
    rows = []
    for name, note in NOTES[part].items():
        values = [one[part].get(name) for one in own]
        best = best_of(note, values)
        cells = "".join(
            f"<td{' class=best' if len(own) > 1 and at in best else ''}>{shown_value(value)}</td>"
            for at, value in enumerate(values)
        )
        rows.append(f'<tr><td>{escape(note.title)}</td>{cells}<td class="words">{escape(note.words)}</td></tr>')
    return f"<table><thead><tr><th></th>{head}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
