"""Was a replayed run's result reproduced? Its output beside the recorded one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.agents.interface import OUTPUT
from engine.agents.replay import REPORT
from engine.base.files import sha256_of
from engine.runs import result

_MAX_REPORT_BYTES = 16 << 20


def compared(place: Path, facts: Mapping[str, Any], reward: float | None) -> dict[str, Any]:
    """`replay` of the record: what was known at the start, and how the results compare.

    Args:
        place: the replaying run's folder, what it left is collected.
        facts: what is known of the run.
        reward: of this run; None when nothing was scored.
    """
    told = dict(facts["replay"])
    recorded = Path(facts["_record"])
    record = result.read(recorded) or {}
    tests = record.get("test_results")
    was = tests.get("reward") if isinstance(tests, dict) else record.get("reward")
    return {
        **told,
        "ended_differently": _ended_differently(place / "agent" / REPORT),
        "same_output": _same(place / OUTPUT, recorded / OUTPUT),
        "reward_recorded": was,
        "reward_now": reward,
        "same_reward": _close(was, reward),
    }


def _same(one: Path, other: Path) -> bool | None:
    """Are two outputs byte for byte the same? None where neither or only the recorded lacks."""
    try:
        if not other.is_file() or other.is_symlink():
            return None
        if not one.is_file() or one.stat().st_size != other.stat().st_size:
            return False
        return sha256_of(one) == sha256_of(other)
    except OSError:
        return None


def _close(was: object, now: float | None) -> bool | None:
    if not isinstance(was, int | float) or now is None:
        return None
    return abs(float(was) - now) < 1e-8  # noqa: PLR2004 - the decimals of records


def _ended_differently(report: Path) -> int | None:
    """Commands with another exit status than the trace tells; None without a report.

    The report was written inside the sandbox: it is a hint for people, no evidence.
    """
    try:
        with report.open("rb") as file:
            content = file.read(_MAX_REPORT_BYTES)
    except OSError:
        return None
    count = 0
    for line in content.splitlines():
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict) and "recorded" in data:
            count += data.get("status") != data["recorded"]
    return count
