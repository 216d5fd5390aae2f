"""Computing a reference again: what a slice leaves out does not matter, changes come out right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from engine.base.errors import Cancelled
from engine.base.jobs import SimpleJob
from engine.base.paths import Home
from engine.concepts import concept_graph
from engine.concepts.query import DERIVED
from engine.diagnosis.recompute.bench import TARGET, Bench, _deadline
from engine.diagnosis.recompute.cache import Cache
from engine.diagnosis.recompute.changes import all_mutations, both
from engine.diagnosis.recompute.groups import parsed_for
from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.piecewise import Piecewise
from engine.diagnosis.recompute.slicing import slice_for
from engine.diagnosis.recompute.writing import Written, written
from engine.references import find_target, list_targets
from engine.sources import find_source

pytestmark = pytest.mark.shared_data
MIMIC = sorted(key for key in list_targets() if not key.startswith("eicu"))


def columns_of(bench: Bench) -> list[str]:
    described = bench.con.execute(f'DESCRIBE {DERIVED}."{TARGET}"').fetchall()
    return [str(row[0]) for row in described if str(row[0]) not in bench.target.key]


def bench_of(home: Home, key: str) -> Bench:
    return Bench(
        find_source(home, "mimic-demo").path,
        find_target(key),
        concept_graph(),
        patients=None,
        job=None,
        scratch=home.scratch,
    )


@pytest.mark.parametrize("key", MIMIC)
def test_a_slice_gives_the_same_column(small_built: Home, key: str) -> None:
    bench = bench_of(small_built, key)
    parsed = parsed_for(key)
    before = {name: query.tree.sql("duckdb") for name, query in parsed.items()}
    try:
        columns = columns_of(bench)
        asked = [(False, [column]) for column in columns[::4]] + [(True, [])]
        # With the rows in question too, all that decides on them must be there.
        for rows, column in [*asked, (True, columns)]:
            sliced = slice_for(concept_graph(), bench.target, parsed, column, rows=rows)
            for query in bench.order:
                if query.name not in sliced.columns:
                    continue
                described = bench.con.execute(f'DESCRIBE {DERIVED}."{query.name}"').fetchall()
                there = sliced.columns[query.name] & {str(row[0]) for row in described}
                wanted = ", ".join(f'"{name}"' for name in sorted(there))
                cut = written(parsed[query.name], sliced.kept[query.name], None)
                whole = f'SELECT {wanted} FROM {DERIVED}."{query.name}"'
                other = f"SELECT {wanted} FROM ({cut})"
                row = bench.con.execute(
                    f"SELECT count(*) FROM (({whole} EXCEPT ALL {other}) UNION ALL "
                    f"({other} EXCEPT ALL {whole}))"
                ).fetchall()
                assert row[0][0] == 0, (column, query.name)
    finally:
        bench.close()
    assert {name: query.tree.sql("duckdb") for name, query in parsed.items()} == before


def chosen(key: str, bench: Bench, column: str, before: str, name: str) -> Mutation:
    parsed = parsed_for(key)
    sliced = slice_for(concept_graph(), bench.target, parsed, [column], rows=False)
    found = [
        m
        for m in all_mutations(parsed, sliced, bench.items, TARGET)
        if m.id == name and m.before == before
    ]
    assert found, before
    return found[0]


def told(key: str, names: list[str], *, rows: bool = False) -> dict[str, Mutation]:
    """All changes of a target's SQL, and of what it reads, by their words."""
    parsed = parsed_for(key)
    target = replace(find_target(key), name=TARGET)
    sliced = slice_for(concept_graph(), target, parsed, names, rows=rows)
    return {m.words: m for m in all_mutations(parsed, sliced, {}, TARGET)}


def test_codes_are_left_out_of_texts_and_ranges_of_codes_are_cut_short() -> None:
    charlson = told("charlson", ["rheumatic_disease"])
    gone = charlson["a list without M32, in charlson"]
    assert gone.id == "item-set"
    assert gone.edits[0].sql == "'M05 M06 M33 M34'"
    assert "rheumatic_disease" in gone.about
    shorter = charlson["J40..J44 instead of J40..J47: without J45 to J47, in charlson"]
    assert shorter.edits[0].sql == "'J40..J44 J60..J67'"
    sapsii = told("sapsii-24h", ["comorbidity_score"])
    assert (
        "BETWEEN 'C81' AND 'C95'" in sapsii["codes from C81 to C95: without C96, in sapsii"].after
    )


def test_a_semi_join_is_followed_to_its_list() -> None:
    found = told("suspicion-infection", ["antibiotic"], rows=True)
    assert found["a list without ('cefazolin'), in antibiotic"].id == "item-set"


def test_an_order_by_day_and_time_is_turned_round_as_a_whole_and_everywhere() -> None:
    found = told("suspicion-infection", ["culture_time"])
    last = found["the last by culture.chartdate and culture.charttime, everywhere (2 places)"]
    assert last.id == "first-last"
    assert {edit.sql.split(", culture.micro")[0] for edit in last.edits} == {
        "ORDER BY culture.chartdate DESC, culture.charttime DESC"
    }


def test_rules_categories_and_bounds_are_changed() -> None:
    found = told("ventilation", ["endtime", "ventilation_status"])
    taken = found["'HFNC' counted as 'SupplementalOxygen', in ventilation"]
    assert taken.id == "label-renamed"
    never = found[
        "a rule left out (if charttime_after < charttime + INTERVAL '14' HOUR), in ventilation"
    ]
    assert never.edits[0].sql == "charttime"
    urine = told("urine-output-rate", ["weight"])
    joined = next(m for words, m in urine.items() if words.startswith("rows of weight_durations"))
    assert joined.id == "one-to-many-join"
    assert "starttime" not in joined.edits[0].sql
    assert "endtime" not in joined.edits[0].sql
    sofa = told("sofa-24h", ["respiration"])
    assumed = sofa["a missing COALESCE(fio2, fio2_chartevents) taken as 21, in bg"]
    assert assumed.edits[0].sql == "COALESCE(fio2, fio2_chartevents, 21)"


def test_a_change_comes_out_as_if_it_had_been_written(small_built: Home) -> None:
    bench = bench_of(small_built, "sirs-24h")
    try:
        change = chosen(
            "sirs-24h", bench, "heart_rate_score", "vital.heart_rate_max > 90.0", "threshold-edge"
        )
        parsed = parsed_for("sirs-24h")
        sliced = slice_for(concept_graph(), bench.target, parsed, ["heart_rate_score"], rows=False)
        # So that the change matters: one stay is put right on the bound.
        bench.con.execute(
            f"UPDATE {DERIVED}.first_day_vitalsign SET heart_rate_max = 90 WHERE stay_id = "
            f"(SELECT min(stay_id) FROM {DERIVED}.first_day_vitalsign)"
        )
        bench.con.execute(
            f"CREATE OR REPLACE TABLE {DERIVED}.sirs AS {concept_graph().concepts['sirs'].sql}"
        )
        bench.con.execute(f'CREATE OR REPLACE TABLE {DERIVED}."{TARGET}" AS {bench.target.sql}')
        changed = bench.run(
            change, parsed, sliced, ["heart_rate_score"], seconds=30, job=SimpleJob()
        )
        assert changed is not None
        expected = bench.con.execute(
            "SELECT s.stay_id, CASE WHEN v.heart_rate_max >= 90 THEN 1 ELSE 0 END "
            f"FROM {DERIVED}.sirs s LEFT JOIN {DERIVED}.first_day_vitalsign v USING (stay_id) "
            "ORDER BY 1"
        ).fetchall()
        got = sorted(
            zip(
                changed.column("stay_id").to_pylist(),
                changed.column("heart_rate_score").to_pylist(),
                strict=True,
            )
        )
        assert got == expected
    finally:
        bench.close()


@pytest.mark.parametrize("key", ["creatinine-baseline", "gcs-24h", "ventilation"])
def test_a_change_put_into_the_text_is_the_changed_tree_written(key: str) -> None:
    parsed = parsed_for(key)
    target = replace(find_target(key), name=TARGET)
    columns = parsed[TARGET].tree.named_selects
    sliced = slice_for(concept_graph(), target, parsed, columns, rows=True)
    texts = {name: Written(parsed[name], nodes) for name, nodes in sliced.nodes.items()}
    changes = all_mutations(parsed, sliced, {}, TARGET)[::3]
    seen = set()
    for mutation in changes:
        for name in mutation.queries:
            changed = texts[name].changed(mutation)
            assert changed == written(parsed[name], sliced.nodes[name], mutation), mutation.words
            # A rule with IF too: writing it must not tear it out of its place.
            assert changed != texts[name].plain
            seen.add(name)
    assert len(seen) > 1


@pytest.mark.parametrize("key", ["kdigo-48h", "sapsii-24h", "ventilation"])
def test_a_change_piece_by_piece_is_the_change_as_a_whole(small_built: Home, key: str) -> None:
    source, target = find_source(small_built, "mimic-demo").path, find_target(key)
    with duckdb.connect(str(source), read_only=True) as con:
        rows = con.execute(
            "SELECT DISTINCT subject_id::VARCHAR FROM mimiciv_icu.icustays ORDER BY 1 LIMIT 12"
        ).fetchall()
    benches = [
        Bench(
            source,
            target,
            concept_graph(),
            patients=[str(row[0]) for row in rows],
            job=None,
            scratch=small_built.scratch,
            in_pieces=in_pieces,
        )
        for in_pieces in (True, False)
    ]
    parsed, names = parsed_for(key), columns_of(benches[0])
    came_out: list[pa.Table] = []
    try:
        slices = [slice_for(concept_graph(), b.target, parsed, names, rows=True) for b in benches]
        changes = all_mutations(parsed, slices[0], benches[0].items, TARGET)
        for mutation in changes[:: max(1, len(changes) // 25)]:
            one, other = (
                bench.run(mutation, parsed, sliced, names, seconds=60, job=None)
                for bench, sliced in zip(benches, slices, strict=True)
            )
            assert (one is None) == (other is None), mutation.words
            if one is not None and other is not None:
                order = [(name, "ascending") for name in target.key]
                assert one.sort_by(order).equals(other.sort_by(order)), mutation.words
                came_out.append(one)
    finally:
        for bench in benches:
            bench.close()
    assert came_out


def test_kinds_of_rows_and_units_are_among_the_changes() -> None:
    def words(key: str) -> list[str]:
        parsed, target = parsed_for(key), replace(find_target(key), name=TARGET)
        columns = parsed[TARGET].tree.named_selects
        sliced = slice_for(concept_graph(), target, parsed, columns, rows=True)
        return [m.words for m in all_mutations(parsed, sliced, {}, TARGET)]

    ventilation = words("ventilation")
    assert sum("not asked of ventilation_status" in said for said in ventilation) == 6
    assert any(said.startswith("ventilation_status 'HFNC' left out") for said in ventilation)
    charlson = words("charlson")
    assert any(said.startswith("a list without the rows of 'dementia'") for said in charlson)
    assert any(
        said.startswith("bilirubin_total_max off by a factor of") for said in words("meld-24h")
    )


def test_two_changes_are_made_together_unless_one_lies_in_the_other() -> None:
    parsed, target = parsed_for("ventilation"), replace(find_target("ventilation"), name=TARGET)
    columns = parsed[TARGET].tree.named_selects
    sliced = slice_for(concept_graph(), target, parsed, columns, rows=True)
    changes = all_mutations(parsed, sliced, {}, TARGET)
    gap = next(m for m in changes if "16 instead of 14 hours" in m.words and len(m.edits) > 1)
    single = next(m for m in changes if "not asked of ventilation_status 'None'" in m.words)
    joint = both(gap, single, parsed)
    assert joint is not None
    assert len(joint.edits) == len(gap.edits) + 1
    assert gap.words in joint.words
    assert single.words in joint.words
    assert both(gap, gap, parsed) is None


def test_what_fails_or_takes_too_long_explains_nothing_and_a_cancel_stops(
    small_built: Home,
) -> None:
    bench = bench_of(small_built, "ventilation")
    try:
        change = chosen("ventilation", bench, "endtime", "INTERVAL '14' HOUR", "window")
        parsed = parsed_for("ventilation")
        sliced = slice_for(concept_graph(), bench.target, parsed, ["endtime"], rows=False)
        broken = replace(
            change,
            edits=(replace(change.edits[0], new=duckdb_column("no_such_column")),),
        )
        assert bench.run(broken, parsed, sliced, ["endtime"], seconds=30, job=None) is None
        job = SimpleJob()
        job.cancel()
        with pytest.raises(Cancelled):
            bench.run(broken, parsed, sliced, ["endtime"], seconds=30, job=job)
    finally:
        bench.close()


LONG = "SELECT count(*) FROM range(30_000_000_000) r WHERE hash(range) = 1"


@pytest.mark.parametrize("how", ["time", "cancel"])
def test_what_is_over_between_two_statements_does_not_let_the_next_one_run(how: str) -> None:
    """Pieces are many small statements: an interrupt often comes when none is running."""
    job = SimpleJob()
    with duckdb.connect() as con:

        def work() -> None:
            with _deadline(con, 0 if how == "time" else 60, job):
                if how == "cancel":
                    job.cancel()
                for _ in range(200):  # an interrupt that came before is forgotten here
                    con.execute("SELECT 1").fetchall()
                con.execute(LONG).fetchall()

        with pytest.raises(duckdb.InterruptException):
            work()
        assert con.execute("SELECT 1").fetchall() == [(1,)]


def test_pieces_that_were_interrupted_are_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (Written(p, set(range(len(p.nodes)))) for p in parsed_for("sofa-24h").values())
    text = next(text for text in texts if text.pieces(None))

    def interrupted(*_: object) -> None:
        raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    with duckdb.connect() as con:
        pieces = Piecewise(con)
        monkeypatch.setattr(pieces, "_keep", interrupted)
        for _ in range(2):  # as it was before: the query as a whole, without any limit
            with pytest.raises(duckdb.InterruptException):
                pieces.last(text, None, str)


def duckdb_column(name: str) -> exp.Column:
    return exp.column(name)


def test_every_change_has_its_own_key(small_built: Home) -> None:
    bench = bench_of(small_built, "ventilation")
    try:
        parsed = parsed_for("ventilation")
        sliced = slice_for(concept_graph(), bench.target, parsed, ["endtime"], rows=True)
        mutations = all_mutations(parsed, sliced, bench.items, TARGET)
        assert len(mutations) > 50
        assert len({m.key for m in mutations}) == len(mutations)
        unchanged = [(m.id, m.words, m.before) for m in mutations if m.before == m.after]
        assert not unchanged
    finally:
        bench.close()


def test_outcomes_are_kept_on_disk(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    table = pa.table({"a": [1, 2]})
    first = Cache(folder)
    first.put("one", table)
    first.put("none", None)
    first.put("late", None, lasting=False)
    assert first.get("late") == (True, None)
    second = Cache(folder)
    assert second.get("one") == (True, table)
    assert second.get("none") == (True, None)
    assert second.get("other") == (False, None)
    assert second.get("late") == (False, None), "what failed once is tried again"
    (folder / "one.parquet").write_bytes(b"broken")
    assert Cache(folder).get("one") == (False, None)
