"""Traces of every agent in one form; see README.md of `engine.agents`."""

from engine.agents.traces.later import Looker
from engine.agents.traces.lines import read_output
from engine.agents.traces.model import (
    Closing,
    ErrorKind,
    Finding,
    FindingReason,
    OutputRef,
    StepError,
    StepKind,
    Tokens,
    TraceReader,
    TraceStep,
    TraceSummary,
    WrittenFile,
)
from engine.agents.traces.open import TIMES, Trace, read_trace, sniff, trace_reader
from engine.agents.traces.sql import pretty as pretty_sql

__all__ = [
    "TIMES",
    "Closing",
    "ErrorKind",
    "Finding",
    "FindingReason",
    "Looker",
    "OutputRef",
    "StepError",
    "StepKind",
    "Tokens",
    "Trace",
    "TraceReader",
    "TraceStep",
    "TraceSummary",
    "WrittenFile",
    "pretty_sql",
    "read_output",
    "read_trace",
    "sniff",
    "trace_reader",
]
