"""What a run used and what was found of it, as rows for tables. No widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.agents.traces.external import RULES as EXTERNAL
from engine.runs.lint import RULES as LINT
from engine.workbench import RunRecord

_TRACE = "trace.jsonl"


@dataclass(frozen=True)
class Find:
    """Something that the agent must not have had or done, with its place."""

    words: str
    """What, by the rule that found it."""
    place: str
    """File and line."""
    step: int | None
    """Step of the trace; None where it is told by a line, or of a file."""
    line: int | None
    """Line of the trace, for finds in the trace."""
    file: str
    """The file; ``trace.jsonl`` for the trace."""


def finds_of(record: RunRecord) -> tuple[Find, ...]:
    """What contamination lint and the look at external tools found, in this order."""
    found = []
    if record.contamination_lint is not None:
        for each in record.contamination_lint.violations:
            words = LINT.get(each.pattern, each.pattern.replace("_", " "))
            found.append(_find(words, each.file, each.line, each.step))
    if record.external_tools is not None:
        for finding in record.external_tools.violations:
            words = EXTERNAL.get(finding.rule, finding.rule.replace("_", " "))
            found.append(_find(words, finding.file, finding.line, finding.step))
    return tuple(found)


def _find(words: str, file: str, line: int | None, step: int | None) -> Find:
    where = f"step {step}" if step is not None else file
    if line is not None and (step is None or file != _TRACE):
        where += f", line {line}" if step is None else f" ({file}, line {line})"
    return Find(words, where, step, line if file == _TRACE else None, file)


class _Rows:
    """Rows of facts; what is not known makes none."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def add(self, name: str, value: object, remark: str = "") -> None:
        if value not in (None, "", [], ()):
            text = f"{value:,}" if isinstance(value, int) else str(value)
            self.rows.append((name, text, remark))


def usage_facts(record: RunRecord) -> tuple[tuple[str, str, str], ...]:
    """Model, budget and tokens as (name, value, remark); what is not known is left out."""
    raw, rows = record.raw, _Rows()
    _model(raw, rows)
    _tokens(raw, rows)
    _skills(raw, rows)
    return tuple(rows.rows)


def _model(raw: Mapping[str, Any], rows: _Rows) -> None:
    endpoint = raw.get("endpoint")
    if isinstance(endpoint, Mapping):
        local = "on this machine" if endpoint.get("local") else "another machine"
        rows.add("Endpoint", endpoint.get("name"), f"{endpoint.get('api', '')}, {local}")
    elif isinstance(endpoint, str):
        rows.add("Endpoint", endpoint)
    models = _part(raw, "token_usage").get("model_strings")
    if isinstance(models, list):
        rows.add("Models that answered", ", ".join(map(str, models)))
    rows.add("Agent's version", raw.get("agent_version"))
    effort, asked = raw.get("reasoning_effort"), raw.get("reasoning_effort_requested")
    other = f"asked for: {asked}" if asked and asked != effort else ""
    rows.add("Reasoning effort", effort or asked, other)


def _tokens(raw: Mapping[str, Any], rows: _Rows) -> None:
    usage, budget = _part(raw, "token_usage"), _part(raw, "budget")
    gateway = _part(raw, "gateway")
    counted = _part(gateway, "usage")
    by = {"trace": "counted by the agent's trace", "gateway": "counted by the gateway"}
    origin = by.get(str(usage.get("counted_by")), "")
    if usage.get("lower_bound"):
        origin += "; a lower bound"
    rows.add("Tokens in", usage.get("input_tokens"), _of(budget, "input_tokens", origin))
    rows.add("Of them from the cache", usage.get("cached_input_tokens"))
    rows.add("Tokens out", usage.get("output_tokens"), _of(budget, "output_tokens", ""))
    rows.add("Turns", usage.get("turns"))
    for name, pair in _part(usage, "disagreement").items():
        if isinstance(pair, Mapping):
            words = f"trace {pair.get('trace')}, gateway {pair.get('gateway')}"
            rows.add(f"Counts of {name.replace('_', ' ')} differ", words)
    rows.add("Requests passed on", counted.get("requests"), _of(budget, "requests", ""))
    rows.add("Requests refused", counted.get("refused") or None, "see the list below")
    rows.add("Ended by the gateway", _part(gateway, "stopped").get("detail"))


def _skills(raw: Mapping[str, Any], rows: _Rows) -> None:
    rows.add("Skills given", ", ".join(map(str, raw.get("skills") or [])))
    listed, read = raw.get("skills_listed"), raw.get("skills_read")
    if isinstance(listed, list):
        words = ", ".join(map(str, listed))
        rows.add("Skills on offer", words, "as the agent's program lists them")
    if isinstance(read, list):
        rows.add("Skills read", ", ".join(map(str, read)) or "none")


def _of(budget: Mapping[str, Any], name: str, remark: str) -> str:
    limit = budget.get(name)
    words = f"budget {limit:,}" if isinstance(limit, int) else ""
    return "; ".join(part for part in (remark, words) if part)


def _part(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, Mapping) else {}


def network_words(row: Mapping[str, Any]) -> str:
    """What became of a request."""
    if not row.get("allowed"):
        return f"✗ refused: {str(row.get('why') or 'not allowed').replace('_', ' ')}"
    why = row.get("why")
    return "passed on" if not why else f"✗ {str(why).replace('_', ' ')}"
