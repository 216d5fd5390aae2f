"""What a verdict keeps of a check: everything only of free data that are still what was asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.base.jobs import SimpleJob
from engine.base.paths import open_home
from engine.claims import Check, Evidence
from engine.reviews.acts import _is_free
from engine.sources import find_source
from engine.workbench import Workbench


def test_small_counts_are_attached_only_where_the_policy_lets_them(tmp_path: Path) -> None:
    home = open_home(tmp_path / "home")
    bench = Workbench(home)
    bench.synth_source("small", kind="mimic-iv", stays=20, seed=3, job=SimpleJob())
    digest = find_source(home, "small").digest or ""
    check = Check(
        "item-known", "agrees", "w", "source", "skill", 1, 1, query="SELECT 1",
        result={"item": 7, "rows": 40, "stays": 7},
    )  # fmt: skip
    evidence = Evidence("t", "small", digest, "0" * 64, {}, "now", (), (), (check,))
    assert bench.evidence_piece(evidence, check)["result"]["stays"] == 7
    assert _is_free(home, "small", digest)
    for other in (replace(evidence, source_digest="1" * 64), replace(evidence, source="gone")):
        piece = bench.evidence_piece(other, check)
        assert (piece["result"]["stays"], piece["small_counts"]) == ("suppressed", "left out")
        assert not _is_free(home, other.source, other.source_digest)
    # Data that another program changed count as credentialed.
    with find_source(home, "small").path.open("ab") as file:
        file.write(b"\0")
    assert bench.evidence_piece(evidence, check)["result"]["stays"] == "suppressed"
    assert not _is_free(home, "small", digest)
