import json
import xml.etree.ElementTree as ElementTree

from regard.audit.verdict import AuditReport, Verdict

REPORT = AuditReport(
    "mine",
    (
        Verdict("company", "?", "holds", tried=40),
        Verdict("forbidden", "?", "breaks", "key 1 leaks", {"batch": 1}, 7),
        Verdict("caching", "?", "does not apply", "no cache"),
    ),
)


def test_the_table_counts_and_tells() -> None:
    lines = str(REPORT).splitlines()
    assert lines[0] == "mine: 1 of 2 laws hold, 1 do not apply"
    assert lines[2] == "  forbidden  breaks          key 1 leaks"
    assert not REPORT.is_sound


def test_json_has_the_smallest_example() -> None:
    assert json.loads(REPORT.to_json())["verdicts"][1]["example"] == {"batch": 1}


def test_the_badge_is_a_picture() -> None:
    badge = ElementTree.fromstring(REPORT.badge())
    assert badge.get("aria-label") == "attention laws: 1 of 2"
