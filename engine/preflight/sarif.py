"""Findings as SARIF 2.1.0, the format that editors and code hosts read.

Written by hand: the document is small, and the libraries for it are no longer kept up.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine import __version__
from engine.preflight.finding import Finding
from engine.preflight.lint import RULES, TITLES

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Iterable[Finding], root: Path) -> dict[str, Any]:
    """The document; paths below `root` are written relative to it."""
    ids = sorted(TITLES)
    fixes = {rule.id: rule.fix for rule in RULES}
    rules = [
        {
            "id": name,
            "shortDescription": {"text": TITLES[name]},
            **({"help": {"text": fixes[name]}} if name in fixes else {}),
        }
        for name in ids
    ]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "m4bench", "version": __version__, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"CONTENT": {"description": {"text": "folder of tasks/"}}},
                "results": [_result(finding, ids, root) for finding in findings],
            }
        ],
    }


def _result(finding: Finding, ids: list[str], root: Path) -> dict[str, Any]:
    path = finding.path
    if path.is_relative_to(root):
        artefact = {"uri": path.relative_to(root).as_posix(), "uriBaseId": "CONTENT"}
    else:
        artefact = {"uri": path.absolute().as_uri()}
    return {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": finding.level,
        "message": {"text": f"{finding.message} {finding.fix}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": artefact,
                    "region": {"startLine": finding.line, "startColumn": finding.column},
                }
            }
        ],
    }
