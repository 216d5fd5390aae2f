"""Steps as lines of bytes and back: between processes of this program, kept beside a run, and held.

A line begins with what lists and filters ask for, so that of many thousand steps only those are
unpacked that somebody looks at: number, kind, line of the trace, marks, and the step as JSON,
with tabs between them. Unlike steps, bytes cost no time of the garbage collector's.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from typing import Any, Literal, NamedTuple, cast

from engine.agents.traces.model import (
    OutputRef,
    StepError,
    StepKind,
    Tokens,
    TraceStep,
    WrittenFile,
)

Mark = Literal["c", "q", "f", "e", "u"]
"""Command or output; SQL; files or a skill; went wrong; not looked into."""
_ERRORS = (ValueError, TypeError, KeyError, AttributeError)
_USUAL = {
    each.name: None if each.default is MISSING else each.default
    for each in fields(TraceStep)
    if each.name not in ("output_ref", "reads", "writes", "sql", "tokens", "error", "data")
}


class Head(NamedTuple):
    """What is known of a packed step without unpacking it."""

    number: int
    kind: StepKind
    line: int
    marks: str


def marks_of(step: TraceStep) -> str:
    """The marks of a step."""
    marks = "c" if step.command is not None or step.kind == "output" else ""
    marks += "q" if step.sql else ""
    marks += "f" if step.writes or step.reads or step.skill else ""
    marks += "e" if went_wrong(step) else ""
    return marks if step.looked else marks + "u"


def went_wrong(step: TraceStep) -> bool:
    """Did something go wrong in it?"""
    return (
        step.failed
        or step.error is not None
        or step.kind in ("error", "retry")
        or step.exit_code not in (None, 0)
    )


def pack(step: TraceStep) -> bytes:
    """A step in one line, without a line break; what has its usual value is left out."""
    values = vars(step)
    told = {name: values[name] for name, usual in _USUAL.items() if values[name] != usual}
    for name in ("sql", "reads"):
        if values[name]:
            told[name] = values[name]
    if step.data:
        told["data"] = dict(step.data)
    if step.writes:
        told["writes"] = [_set(each) for each in step.writes]
    for name in ("tokens", "error"):
        if values[name] is not None:
            told[name] = _set(values[name])
    if (ref := step.output_ref) is not None:
        told["output_ref"] = [ref.line, ref.start, ref.end, ref.pointer]
    head = f"{step.number}\t{step.kind}\t{step.line}\t{marks_of(step)}\t"
    return (head + json.dumps(told, separators=(",", ":"))).encode()


def head_of(packed: bytes) -> Head:
    """What a packed step begins with.

    Raises:
        ValueError: `pack` wrote no such line.
    """
    number, kind, line, marks, _ = packed.split(b"\t", 4)
    return Head(int(number), cast("StepKind", kind.decode()), int(line), marks.decode())


def unpack(packed: bytes) -> TraceStep:
    """The step of a line that `pack` wrote.

    Raises:
        ValueError: it wrote no such line.
    """
    try:
        told: dict[str, Any] = json.loads(packed.split(b"\t", 4)[4])
        for name in ("sql", "reads"):
            if name in told:
                told[name] = tuple(told[name])
        if "writes" in told:
            told["writes"] = tuple(WrittenFile(**each) for each in told["writes"])
        if "tokens" in told:
            told["tokens"] = Tokens(**told["tokens"])
        if "error" in told:
            told["error"] = StepError(**told["error"])
        if "output_ref" in told:
            at, start, end, pointer = told["output_ref"]
            told["output_ref"] = OutputRef(at, start, end, tuple(pointer))
        return TraceStep(**told)
    except (*_ERRORS, IndexError) as error:
        raise ValueError("This is no packed step.") from error


def _set(value: object) -> dict[str, Any]:
    return {name: one for name, one in vars(value).items() if one is not None}
