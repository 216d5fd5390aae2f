"""The row grain against the reference table that was built, where it was."""

from __future__ import annotations

from collections.abc import Iterator

from engine.base.duck import quote, quote_text
from engine.base.errors import M4Error
from engine.base.paths import Home
from engine.claims.asking import Asker
from engine.claims.material import Material, checked
from engine.claims.model import Check
from engine.references import open_reference

_STAYS = {"mimic-iv": "mimiciv_icu.icustays", "eicu": "eicu_crd.patient"}


def outcome_checks(material: Material, asker: Asker, home: Home, source: str) -> Iterator[Check]:
    """Is the key unique, and is every stay there where the skill says so?

    Also the share of rows without a value in each column: what is missing how often.
    """
    claims = [(s, c) for s in material.skills for c in s.of("grain")]
    if not claims:
        return
    text, claim = claims[0]
    try:
        path = open_reference(home, source, material.task.target)
    except M4Error:
        words = "The reference has not been built for this source."
        yield checked(text, "grain-rows", "cannot tell", words, "reference", claim=claim)
        return
    where = f"read_parquet({quote_text(str(path))})"
    shown = f"'{material.task.target}.parquet'"
    key = ", ".join(quote(name) for name in material.rules.facts.key)
    sql = f"SELECT count(*), count(DISTINCT ({key})) FROM "  # noqa: S608 - quoted
    rows, different = asker.ask(sql + where)[0]
    stays = None
    table = _STAYS[material.task.source_kind]
    if "every one of them" in claim.shown and table in asker.columns and "stay" in claim.shown:
        stays = int(asker.ask(f"SELECT count(*) FROM {table}")[0][0])  # noqa: S608 - ours
    wrong = rows != different or (stays is not None and rows != stays)
    words = "The reference's rows are unique by its key."
    if rows != different:
        words = "The reference has rows with the same key."
    elif stays is not None:
        words += " Every stay is there." if rows == stays else " Not every stay has a row."
    yield checked(
        text, "grain-rows", "disagrees" if wrong else "agrees", words, "reference", claim=claim,
        query=sql + shown, result={"rows": rows, "keys": different, "stays": stays},
    )  # fmt: skip
    columns = material.rules.facts.columns
    parts = ", ".join(f"count(*) - count({quote(name)})" for name in columns)
    sql = f"SELECT {parts} FROM "  # noqa: S608 - quoted
    missing = dict(zip(columns, map(int, asker.ask(sql + where)[0]), strict=True))
    # "never missing" may speak of some columns only
    never = "nothing missing" in claim.shown.lower()
    some = [name for name, number in missing.items() if number]
    told = f"Missing somewhere: {', '.join(some)}." if some else "No column is ever missing."
    yield checked(
        text, "missing-share", "disagrees" if never and some else "agrees", told, "reference",
        claim=claim, query=sql + shown, result={"rows": rows, "missing_rows": missing},
    )  # fmt: skip
