"""One offline HTML file, and the same as JSON, about a run or a comparison; no row-level data."""

from engine.diagnosis.report.facts import comparison_facts, run_facts
from engine.diagnosis.report.page import write_report

__all__ = ["comparison_facts", "run_facts", "write_report"]
