"""What an audit found: a verdict for each law, as a table, as JSON and as a badge."""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal
from xml.sax.saxutils import escape

Ruling = Literal["holds", "breaks", "does not apply"]


@dataclass(frozen=True)
class Verdict:
    """Whether a law holds for the subject of an audit."""

    law: str
    question: str
    outcome: Ruling
    detail: str = ""
    """how it breaks, why it does not apply, or a figure that was measured"""
    example: dict[str, Any] | None = None
    """the smallest example found on which it breaks"""
    tried: int = 0
    """how many examples were tried"""


@dataclass(frozen=True)
class AuditReport:
    """The verdicts of an audit.

    >>> report = regard.audit(torch.nn.functional.scaled_dot_product_attention, laws=["company"], examples=5)
    >>> print(report)
    >>> report.is_sound, report.to_json()
    """

    name: str
    verdicts: tuple[Verdict, ...]
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The laws that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "breaks")

    @property
    def is_sound(self) -> bool:
        """Whether no law is broken."""
        return not self.broken

    def __str__(self) -> str:
        width = max((len(verdict.law) for verdict in self.verdicts), default=0)
        lines = [f"{self.name}: {self.summary}"]
        for verdict in self.verdicts:
            lines.append(f"  {verdict.law:<{width}}  {verdict.outcome:<14}  {verdict.detail}".rstrip())
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """The count in words."""
        holds = sum(verdict.outcome == "holds" for verdict in self.verdicts)
        told = f"{holds} of {holds + len(self.broken)} laws hold"
        idle = len(self.verdicts) - holds - len(self.broken)
        return told + (f", {idle} do not apply" if idle else "")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "versions": self.versions, "verdicts": [asdict(each) for each in self.verdicts]}

    def to_json(self) -> str:
        """All verdicts as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def badge(self) -> str:
        """A small picture (SVG) of the count, for the front page of a project."""
        left, right = "attention laws", self.summary.partition(" laws")[0]
        color = "#2e7d32" if self.is_sound else "#c62828"
        widths = [7 * len(text) + 12 for text in (left, right)]
        texts = "".join(
            f'<text x="{x}" y="14" textLength="{7 * len(text)}">{escape(text)}</text>'
            for text, x in ((left, 6), (right, widths[0] + 6))
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{sum(widths)}" height="20" role="img" '
            f'aria-label="{escape(f"{left}: {right}")}">'
            f'<rect width="{widths[0]}" height="20" fill="#444"/>'
            f'<rect x="{widths[0]}" width="{widths[1]}" height="20" fill="{color}"/>'
            f'<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">{texts}</g></svg>\n'
        )
