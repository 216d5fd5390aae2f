"""The report as one HTML file that opens anywhere without a network, and as JSON beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import jinja2
from markupsafe import Markup, escape

from engine.base.files import writing
from engine.diagnosis.compare.model import CHANGES
from engine.diagnosis.signatures.names import TITLES

_WORDS = {
    "right": "right in both",
    "mended": "mended",
    "broken": "broken",
    "wrong": "wrong as before",
    "wrong_otherwise": "wrong otherwise",
}

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d"
_FAULTS = {
    "agent": "May lie with the agent",
    "skill": "May lie with the skill",
    "instruction": "May lie with the instruction",
    "reference": "May lie with the reference",
    "undecided": "Cannot be told from here",
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
    return template.render(
        facts=facts, changes=CHANGES, words=_WORDS, faults=_FAULTS, titles=TITLES,
        letters=ascii_uppercase,
    )  # fmt: skip


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
    environment.filters["moment"] = _moment
    environment.filters["breakable"] = _breakable
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


def _moment(value: object) -> str:
    """A time of a record, to the minute: "2150-03-01 14:00 UTC"."""
    text = str(value)
    return f"{text[:10]} {text[11:16]} UTC" if re.match(_ISO, text) else text


def _breakable(value: object) -> Markup:
    """A name that may go on in the next line after an underscore."""
    return escape(str(value)).replace("_", Markup("_<wbr>"))


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
