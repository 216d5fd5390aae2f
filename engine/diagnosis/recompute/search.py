"""From mismatches to changes of the reference's SQL that give just what the agent has.

First every change that bears on a column is tried on a block of patients, then the best on all
(of a large source: on more). Columns are taken in turn, those with the fewest changes first, and
passed over once a change that was found explains them too.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np

from engine.base import duck
from engine.base.jobs import Job
from engine.concepts import Query, concept_graph
from engine.diagnosis.model import Change
from engine.diagnosis.recompute.bench import TARGET, Bench
from engine.diagnosis.recompute.cache import Cache, key_of
from engine.diagnosis.recompute.changes import all_mutations
from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.patients import SOURCE, attach, make_owners, owner
from engine.diagnosis.recompute.slicing import Parsed, Slice, parse, slice_for
from engine.diagnosis.recompute.trial import Outcome, Sample, compare, take_sample
from engine.diagnosis.signatures.candidate import KEYS, Candidate, RowList
from engine.diagnosis.table import Column, Table
from engine.references import find_target

ENOUGH = 12
"""Mismatches of a column that the first round's sample must hold, if there are as many."""
FEW = (3, 8)
"""Patients with mismatches in it, at least and at most."""
OTHERS = 4
"""Patients without any in it: what must stay as it is."""
MOST_PATIENTS = 2500
"""In the second round."""
FINALISTS = 6
"""Changes of a column that come into the second round."""
_DONE = 0.95
"""Share of a column's mismatches from which on nothing more is looked for."""
_SURE = 3
"""Mismatches of a sample that a change must explain without a contradiction to end a round."""
_QUERY_SECONDS = 5.0
_FINAL_SECONDS = 60.0


@dataclass
class Search:
    """What a search goes over, and what it found.

    Args of `__init__` are the fields; see `source_candidates`.
    """

    table: Table
    source: Path
    kind: str
    digest: str
    target: Query
    cache: Cache
    job: Job | None
    scratch: Path | None
    seconds: float
    notes: list[str] = field(default_factory=list)
    tried: int = 0
    skipped: int = 0
    _benches: dict[tuple[str, ...] | None, Bench] = field(default_factory=dict)
    _samples: dict[tuple[str, ...] | None, Sample] = field(default_factory=dict)
    _until: float = 0.0

    def run(self, positions: Sequence[int]) -> list[Candidate]:
        """Candidates for the columns at `positions` (`KEYS` for the keys)."""
        place = owner(self.kind, self.table.keys)
        if place is None:
            self.notes.append("Nothing was computed again: the keys name no patient.")
            return []
        try:
            attach(self.table.con, self.source)
            make_owners(self.table.con, self.kind, self.table.keys)
            self.table.con.execute(f"DETACH {SOURCE}")
            self._until = time.monotonic() + self.seconds
            return self._all(positions, self.table.keys.index(place[0]))
        except duckdb.Error as error:
            raise duck.in_words(error, "computing the reference again") from error
        finally:
            for bench in self._benches.values():
                bench.close()

    def _all(self, positions: Sequence[int], who: int) -> list[Candidate]:
        parsed = parsed_for(self.target.name)
        planned = []
        for position in positions:
            sliced = self._slice(parsed, position)
            size = sum(len(nodes) for nodes in sliced.nodes.values())
            planned.append((position == KEYS, size, position, sliced))
        found: dict[str, Candidate] = {}
        for _, _, position, sliced in sorted(planned, key=lambda plan: plan[:3]):
            if self._explained(found.values(), position):
                continue
            for finalists in self._first_round(position, sliced, parsed, who):
                for mutation in finalists:
                    if mutation.key not in found:
                        candidate = self._second_round(mutation, parsed, who)
                        if candidate is not None:
                            found[mutation.key] = candidate
                if self._explained(found.values(), position):
                    break  # what lies deeper would explain no more
        if self.skipped:
            self.notes.append(
                f"{self.skipped} of {self.skipped + self.tried} changes of the reference's SQL "
                f"were not tried: the {self.seconds:g} s for them were over."
            )
        return list(found.values())

    def _explained(self, found: Iterable[Candidate], position: int) -> bool:
        return any(
            position in c.cells
            and c.tested.get(position, 0)
            and c.cells[position].size >= _DONE * c.tested[position]
            and c.broken * 10 <= c.cells[position].size
            for c in found
        )

    def _slice(self, parsed: dict[str, Parsed], position: int) -> Slice:
        names = [] if position == KEYS else [self._column(position).name]
        target = replace(self.target, name=TARGET)
        return slice_for(concept_graph(), target, parsed, names, rows=position == KEYS)

    def _column(self, position: int) -> Column:
        return next(c for c in self.table.columns if c.position == position)

    def _first_round(
        self, position: int, sliced: Slice, parsed: dict[str, Parsed], who: int
    ) -> Iterator[list[Mutation]]:
        """The changes that fit best on a few patients with mismatches.

        Those of the target's own SQL first, then those of what it reads, and so on: after each
        such ring in which one explains every mismatch of the sample, and at the end.
        """
        patients = self._choose(position, who)
        if not patients:
            return
        bench = self._bench(patients)
        columns = [] if position == KEYS else [self._column(position)]
        sample = self._sample(bench, patients, who)
        tested = sample.tested(position)
        if not tested:
            return
        ranked = self._by_distance(all_mutations(parsed, sliced, bench.items, TARGET))
        scored: list[tuple[int, int, Mutation]] = []
        told = 0
        for number, (far, mutation) in enumerate(ranked):
            if time.monotonic() > self._until:
                self.skipped += len(ranked) - number
                break
            if self.job is not None:
                self.job.check()
                self.job.progress("changes", number, len(ranked), mutation.id)
            self.tried += 1
            outcome = self._try(bench, sample, mutation, parsed, sliced, columns, patients)
            if outcome is not None:
                hits = outcome.cells.get(position)
                score = (0 if hits is None else int(hits.size)) - outcome.broken
                if score > 0:
                    scored.append((score, -number, mutation))
            last = number + 1 == len(ranked) or ranked[number + 1][0] > far
            if last and len(scored) > told and max(scored)[0] == tested >= _SURE:
                told = len(scored)
                yield _best(scored)
        if len(scored) > told:
            yield _best(scored)

    def _by_distance(self, mutations: Iterable[Mutation]) -> list[tuple[int, Mutation]]:
        """The changes with how many queries lie between them and the target, nearest first."""
        graph = concept_graph()
        far = {TARGET: 0}
        edge = [self.target]
        while edge:
            names = [name for query in edge for name in query.concepts if name not in far]
            far.update(dict.fromkeys(names, max(far.values()) + 1))
            edge = [graph.concepts[name] for name in dict.fromkeys(names)]
        ranked = [(max(far[q] for q in m.queries), m) for m in mutations]
        return sorted(ranked, key=lambda pair: (pair[0], len(pair[1].edits)))

    def _second_round(
        self, mutation: Mutation, parsed: dict[str, Parsed], who: int
    ) -> Candidate | None:
        """A change on all patients (of a large source: on some), in all columns."""
        patients = self._many(who)
        bench = self._bench(patients)
        sample = self._sample(bench, patients, who)
        columns = [c for c in self.table.columns if not c.lacking]
        target = replace(self.target, name=TARGET)
        sliced = slice_for(concept_graph(), target, parsed, [c.name for c in columns], rows=True)
        outcome = self._try(bench, sample, mutation, parsed, sliced, columns, patients)
        if outcome is None or outcome.explained <= outcome.broken:
            return None
        positions = [c.position for c in columns] + [KEYS]
        return Candidate(
            id=mutation.id,
            words=f"Consistent with {mutation.words}.",
            predicts="what the reference's SQL gives with this one change",
            evidence="source",
            parameters=mutation.parameters,
            cells=outcome.cells,
            tested={p: sample.tested(p) for p in positions},
            broken=outcome.broken,
            counter_example=outcome.counter_example,
            change=Change(
                query=", ".join("the reference" if q == TARGET else q for q in mutation.queries),
                before=mutation.before,
                after=mutation.after,
            ),
            untested=self._outside(sample),
        )

    def _outside(self, sample: Sample) -> dict[int, RowList]:
        """Mismatching rows that the sample does not cover."""
        outside: dict[int, RowList] = {}
        for column in self.table.columns:
            rows = self.table.con.execute(
                f"SELECT row FROM diff WHERE s{column.position} IN (2, 3, 4) AND key_status = 0 "  # noqa: S608 - our own SQL
                "ORDER BY row"
            ).fetchnumpy()["row"]
            inside = sample.rows[sample.wrong.get(column.position, np.zeros(0, bool))]
            outside[column.position] = np.setdiff1d(np.asarray(rows, np.int64), inside)
        rows = self.table.con.execute(
            "SELECT row FROM diff WHERE key_status > 0 ORDER BY row"
        ).fetchnumpy()["row"]
        outside[KEYS] = np.setdiff1d(np.asarray(rows, np.int64), sample.rows[sample.keys])
        return {p: r for p, r in outside.items() if r.size}

    def _try(  # noqa: PLR0917
        self,
        bench: Bench,
        sample: Sample,
        mutation: Mutation,
        parsed: dict[str, Parsed],
        sliced: Slice,
        columns: Sequence[Column],
        patients: tuple[str, ...] | None,
    ) -> Outcome | None:
        names = [c.name for c in columns]
        key = key_of(self.digest, self.target.name, mutation.key, patients, names)
        known, changed = self.cache.get(key)
        if not known:
            seconds = _FINAL_SECONDS if patients is None else _QUERY_SECONDS
            changed = bench.run(mutation, parsed, sliced, names, seconds=seconds, job=self.job)
            self.cache.put(key, changed)
        if changed is None:
            return None
        return compare(bench.con, self.table, sample, changed, columns)

    def _bench(self, patients: tuple[str, ...] | None) -> Bench:
        if patients not in self._benches:
            bench = Bench(
                self.source,
                self.target,
                concept_graph(),
                patients=patients,
                job=self.job,
                scratch=self.scratch,
            )
            self._benches[patients] = bench
        return self._benches[patients]

    def _sample(self, bench: Bench, patients: tuple[str, ...] | None, who: int) -> Sample:
        if patients not in self._samples:
            columns = [c for c in self.table.columns if not c.lacking]
            baseline = bench.baseline([c.name for c in columns])
            self._samples[patients] = take_sample(
                bench.con, self.table, baseline, columns, who, patients
            )
        return self._samples[patients]

    def _choose(self, position: int, who: int) -> tuple[str, ...]:
        """A few patients with mismatches of the column, and a few without."""
        counts = self._ranked(position, who)
        least, most = FEW
        chosen: list[str] = []
        cells = 0
        for patient, count in counts.items():
            if count and (len(chosen) < least or (cells < ENOUGH and len(chosen) < most)):
                chosen.append(patient)
                cells += count
        if not chosen:
            return ()
        others = [patient for patient, count in counts.items() if not count][:OTHERS]
        return tuple(sorted([*chosen, *others]))

    def _many(self, who: int) -> tuple[str, ...] | None:
        """The patients of the second round: all, or some, half of them with mismatches."""
        counts = self._ranked(None, who)
        if len(counts) <= MOST_PATIENTS:
            return None
        with_some = [patient for patient, count in counts.items() if count]
        without = [patient for patient, count in counts.items() if not count]
        half = max(MOST_PATIENTS // 2, MOST_PATIENTS - len(without))
        chosen = with_some[:half]
        return tuple(sorted([*chosen, *without[: MOST_PATIENTS - len(chosen)]]))

    def _ranked(self, position: int | None, who: int) -> dict[str, int]:
        """Mismatches of a column by patient, in an order that is none, but always the same."""
        if position is None:
            wrong = "mismatches <> 0"
        elif position == KEYS:
            wrong = "key_status > 0"
        else:
            wrong = f"s{position} IN (2, 3, 4) AND key_status = 0"
        rows = self.table.con.execute(
            f"SELECT patient, count(*) FILTER (WHERE {wrong}) FROM diff d "  # noqa: S608 - our own SQL
            f"JOIN memory.owners o ON d.k{who} = o.key GROUP BY patient "
            "ORDER BY hash(patient), patient"
        ).fetchall()
        return {str(patient): int(count) for patient, count in rows}


def _best(scored: list[tuple[int, int, Mutation]]) -> list[Mutation]:
    """The finalists: those whose score is at least half of the best."""
    best = sorted(scored, key=lambda s: (-s[0], -s[1]))
    return [mutation for score, _, mutation in best if score * 2 >= best[0][0]][:FINALISTS]


@functools.lru_cache(maxsize=32)
def parsed_for(key: str) -> dict[str, Parsed]:
    """The trees of the target `key` and of all that it rests on, parsed once."""
    own = replace(find_target(key), name=TARGET)
    return {q.name: parse(q) for q in (*concept_graph().order(own.concepts), own)}
