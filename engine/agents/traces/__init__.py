"""Traces of every agent in one form; see README.md of `engine.agents`."""

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

__all__ = [
    "Closing",
    "ErrorKind",
    "Finding",
    "FindingReason",
    "OutputRef",
    "StepError",
    "StepKind",
    "Tokens",
    "TraceReader",
    "TraceStep",
    "TraceSummary",
    "WrittenFile",
]
