"""The report as one HTML file that opens anywhere without a network, and as JSON beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from engine.base.files import writing
from engine.diagnosis.compare.model import CHANGES

_WORDS = {
    "right": "right in both",
    "mended": "mended",
    "broken": "broken",
    "wrong": "wrong as before",
    "wrong_otherwise": "wrong otherwise",
}


def write_report(facts: Mapping[str, Any], to: Path) -> tuple[Path, Path]:
    """Write ``to`` (HTML) and the same name ending in ``.json``; each whole or not at all.

    Args:
        facts: of `run_facts` or `comparison_facts`.
        to: the HTML file.

    Raises:
        UsageError, StorageFull: it cannot be written.
    """
    data = to.with_suffix(".json")
    with writing(data, "writing the report") as part:
        part.write_text(json.dumps(facts, indent=2, ensure_ascii=False), encoding="utf-8")
    with writing(to, "writing the report") as part:
        part.write_text(page(facts), encoding="utf-8")
    return to, data


def page(facts: Mapping[str, Any]) -> str:
    """The HTML text. Everything in it is escaped; it loads and runs nothing."""
    template = _environment().get_template(f"{facts['kind']}.html")
    return template.render(facts=facts, changes=CHANGES, words=_WORDS)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["bar"] = _bar
    environment.filters["told"] = _told
    return environment


def _percent(value: object) -> str:
    if isinstance(value, (int, float)):
        return f"{100 * value:.1f} %"
    if isinstance(value, str):  # a range: "0.91–0.94"
        return f"{'–'.join(f'{100 * float(end):.0f}' for end in value.split('–'))} %"
    return "not told"


def _bar(value: object) -> float:
    """Length of a bar, 0 to 100."""
    if isinstance(value, str):
        return 100 * float(value.split("–")[0])
    return 100 * float(value) if isinstance(value, (int, float)) else 0.0


def _told(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
