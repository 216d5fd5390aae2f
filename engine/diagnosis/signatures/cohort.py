"""Hypotheses about missing keys by what is known of the stay: a filter, an inner join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.base.duck import quote_text
from engine.diagnosis.segments.features import Feature
from engine.diagnosis.signatures.candidate import KEYS, Candidate, ask
from engine.diagnosis.signatures.hypothesis import Hypothesis
from engine.diagnosis.table import Table

_LEVELS = 12


def cohort_candidates(table: Table, features: Sequence[Feature]) -> list[Candidate]:
    """Which feature tells the missing keys from the others; ``memory.features`` is there."""
    if not table.by_key[1] or not table.by_key[0] or not features:
        return []
    hypotheses = [h for n, f in enumerate(features) for h in _of(table, n, f)]
    relation = "SELECT d.*, f.* EXCLUDE (row) FROM diff d LEFT JOIN memory.features f USING (row)"
    return ask(table, KEYS, hypotheses, relation)


def _of(table: Table, number: int, feature: Feature) -> Iterator[Hypothesis]:
    f = f"f{number}"
    if feature.kind == "flag":
        for value, said in (("NOT ", "without "), ("", "with ")):
            yield _lost(feature, f"{value}{f}", f"{said}“{feature.name}”", value == "NOT ")
    elif feature.kind == "category":
        levels = table.con.execute(
            f"SELECT {f}, count(*) FILTER (WHERE key_status = 0) AS kept FROM diff "  # noqa: S608 - our own SQL
            f"JOIN memory.features USING (row) WHERE key_status < 2 AND {f} IS NOT NULL "
            f"GROUP BY {f} ORDER BY kept LIMIT {_LEVELS}"
        ).fetchall()
        gone = [str(level) for level, kept in levels if kept == 0]
        for chosen in [[level] for level in gone] + ([gone] if len(gone) > 1 else []):
            listed = ", ".join(quote_text(level) for level in chosen)
            said = chosen[0] if len(chosen) == 1 else f"one of {len(chosen)} kinds"
            yield _lost(feature, f"{f} IN ({listed})", f"{feature.name} {said}", False)
    else:
        missing = "WHERE key_status = 1"
        row = table.con.execute(
            f"SELECT max({f}) FILTER ({missing}), min({f}) FILTER ({missing}), "  # noqa: S608 - our own SQL
            f"min({f}) FILTER (WHERE key_status = 0), max({f}) FILTER (WHERE key_status = 0) "
            "FROM diff JOIN memory.features USING (row) WHERE key_status < 2"
        ).fetchone()
        if row is None or any(v is None for v in row):
            return
        high, low, kept_low, kept_high = (float(v) for v in row)
        if high <= kept_low:
            yield _lost(feature, f"{f} <= {high!r}", f"{feature.name} up to {high:.3g}", False)
        if low >= kept_high:
            yield _lost(feature, f"{f} >= {low!r}", f"{feature.name} from {low:.3g}", False)


def _lost(feature: Feature, condition: str, said: str, without: bool) -> Hypothesis:
    is_join = feature.data and without
    words = (
        f"Consistent with an inner instead of a left join: stays {said} are missing."
        if is_join
        else f"Consistent with a filtered cohort: stays {said} are missing."
    )
    return Hypothesis(
        id="inner-join" if is_join else "filtered-cohort",
        words=words,
        predicts=f"no row for stays {said}",
        column=None,
        explains=f"key_status = 1 AND ({condition})",
        contradicts=condition,
        parameters={"feature": feature.name},
        strict=True,
    )
