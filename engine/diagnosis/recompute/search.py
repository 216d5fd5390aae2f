"""From mismatches to changes of the reference's SQL that give just what the agent has.

Columns that rest on much the same SQL are looked at together. Every change that bears on them is
tried on a block of patients, those of the target's own SQL first, then those of what it reads, and
so on; the best are tried on all patients (of a large source: on more) and told at once. A group of
columns is left when a change that was found explains them.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import numpy as np

from engine.base import duck
from engine.base.jobs import Job
from engine.concepts import Query, concept_graph
from engine.diagnosis.model import BESIDES, Change
from engine.diagnosis.recompute.bench import TARGET, Bench
from engine.diagnosis.recompute.cache import Cache, key_of
from engine.diagnosis.recompute.changes import all_mutations, both
from engine.diagnosis.recompute.choosing import few, many
from engine.diagnosis.recompute.groups import (
    Group,
    by_distance,
    column_at,
    groups_of,
    parsed_for,
    size,
)
from engine.diagnosis.recompute.mutation import Mutation
from engine.diagnosis.recompute.patients import SOURCE, attach, make_owners, owner
from engine.diagnosis.recompute.promotion import FINALISTS, OWN, Promoted, Scored
from engine.diagnosis.recompute.slicing import Parsed, Slice, slice_for
from engine.diagnosis.recompute.trial import Outcome, Sample, compare, take_sample
from engine.diagnosis.signatures.candidate import KEYS, Candidate, RowList, mismatching
from engine.diagnosis.table import Column, Table

_DONE = 0.95
"""Share of a column's mismatches from which on nothing more is looked for."""
_BLOCK = 40
"""Changes that are tried before the best of them are told."""
_LAYERS = 2
"""Changes at most that are tried on top of the best."""
_LAYER_LEAST, _LAYER_SHARE = 5, 0.05
"""What such a change must explain besides: cells, and of all mismatches."""
_QUERY_SECONDS = 5.0
_FINAL_SECONDS = 60.0


@dataclass
class Search:
    """What a search goes over, and what it found."""

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
    total: int = 0
    """Changes to be tried, of the groups that were begun."""
    cut_short: bool = False
    """The time was over before all was tried."""
    _left: set[str] = field(default_factory=set)
    """Queries whose changes were not all tried."""
    _benches: dict[tuple[str, ...] | None, Bench] = field(default_factory=dict)
    _samples: dict[tuple[str, ...] | None, Sample] = field(default_factory=dict)
    _until: float = 0.0
    _by_key: dict[str, Mutation] = field(default_factory=dict)
    """Changes that came into the second round."""
    _pools: dict[int, list[Mutation]] = field(default_factory=dict)
    """Changes that were tried, by `id` of their group."""
    _whole: Slice | None = None
    """What bears on all columns and the rows, for the second round."""

    def run(self, positions: Sequence[int]) -> Iterator[list[Candidate]]:
        """Candidates for the columns at `positions` (`KEYS` for the keys), as they are found."""
        place = owner(self.kind, self.table.keys)
        if place is None:
            self.notes.append("Nothing was computed again: the keys name no patient.")
            return
        try:
            attach(self.table.con, self.source)
            make_owners(self.table.con, self.kind, self.table.keys)
            self.table.con.execute(f"DETACH {SOURCE}")
            self._until = time.monotonic() + self.seconds
            yield from self._all(positions, self.table.keys.index(place[0]))
        except duckdb.Error as error:
            raise duck.in_words(error, "computing the reference again") from error
        finally:
            for bench in self._benches.values():
                bench.close()

    def pause(self, seconds: float) -> None:
        """Other work took that long; it does not count."""
        self._until += seconds

    def _all(self, positions: Sequence[int], who: int) -> Iterator[list[Candidate]]:
        parsed = parsed_for(self.target.name)
        groups = groups_of(self.target, self.table, parsed, positions)
        found: dict[str, Candidate] = {}
        searches = [self._rings(group, parsed, who) for group in groups]
        going = list(zip(groups, searches, strict=True))
        while going:
            still = []
            for group, search in going:
                if all(self._explained(found.values(), p) for p in group.positions):
                    continue
                finalists = next(search, None)
                if finalists is None:
                    continue
                still.append((group, search))
                made = [
                    candidate
                    for mutation in finalists
                    if mutation.key not in found
                    and (candidate := self._second_round(mutation, parsed, who)) is not None
                    and found.setdefault(mutation.key, candidate)
                ]
                self._by_key.update((mutation.key, mutation) for mutation in finalists)
                if made:
                    yield made
            going = still
        yield from self._layers(groups, parsed, who, found)
        if self.cut_short:
            names = sorted("the target" if q == TARGET else q for q in self._left)
            self.notes.append(
                f"Cut short: the {self.seconds:g} s for trying changes of the reference's SQL were "
                f"over after {self.tried:,}. Not all were tried of: {', '.join(names)}. More time "
                "may find more."
            )

    def _layers(
        self,
        groups: Sequence[Group],
        parsed: dict[str, Parsed],
        who: int,
        found: Mapping[str, Candidate],
    ) -> Iterator[list[Candidate]]:
        """One more change on top of the best, where that one explains a part; perhaps another.

        Several mistakes in one table hide each other: what is a right guess of the second alone
        fits nothing, since the first has moved every row.
        """
        if not groups or not found:
            return
        wide = max(groups, key=lambda g: (len(g.positions), size(g.sliced)))
        key = max(found, key=lambda k: found[k].net)
        base, best = self._by_key[key], found[key]
        for _ in range(_LAYERS):
            if all(self._explained([best], p) for p in wide.positions):
                return
            joint = self._on_top(wide, parsed, who, base, best)
            made = {
                m.key: c for m in joint if (c := self._second_round(m, parsed, who)) is not None
            }
            least = max(_LAYER_LEAST, math.ceil(_LAYER_SHARE * sum(best.tested.values())))
            better = {k: c for k, c in made.items() if c.net >= best.net + least}
            if not better:
                return
            key = max(better, key=lambda k: better[k].net)
            base, best = next(m for m in joint if m.key == key), better[key]
            yield [best]

    def _on_top(
        self, group: Group, parsed: dict[str, Parsed], who: int, base: Mutation, best: Candidate
    ) -> list[Mutation]:
        """The changes that, made besides `base`, fit best on patients whom it leaves wrong."""
        left = self._left_by(best, group.positions)
        patients = few(self.table, group.positions, who, left)
        if not patients:
            return []
        bench = self._bench(patients)
        sample = self._sample(bench, patients, who)
        columns = [column_at(self.table, p) for p in group.positions if p != KEYS]

        def net(mutation: Mutation) -> int | None:
            outcome = self._try(bench, sample, mutation, parsed, group.sliced, columns, patients)
            if outcome is None:
                return None
            return sum(outcome.cells[p].size for p in group.positions if p in outcome.cells) - (
                outcome.broken
            )

        alone = net(base) or 0
        scored: list[tuple[int, int, Mutation]] = []
        for number, mutation in enumerate(self._pools.get(id(group), ())):
            joint = both(base, mutation, parsed)
            if joint is None:
                continue
            if time.monotonic() > self._until:
                self.cut_short = True
                self._left.update(mutation.queries)
                break
            self._say()
            score = net(joint)
            if score is not None and score >= alone + OWN:
                scored.append((-score, number, joint))
                if score >= sum(sample.tested(p) for p in group.positions):
                    break  # nothing can fit better
        return [joint for *_, joint in sorted(scored, key=lambda s: s[:2])[:FINALISTS]]

    def _left_by(self, best: Candidate, positions: Sequence[int]) -> RowList:
        """Rows with a mismatch in one of the positions that the candidate does not explain."""
        rows = [
            np.setdiff1d(wrong, best.cells.get(p, np.zeros(0, np.int64)))
            for p, wrong in mismatching(self.table).items()
            if p in positions
        ]
        return np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int64)

    def _explained(self, found: Iterable[Candidate], position: int) -> bool:
        return any(
            position in c.cells
            and c.tested.get(position, 0)
            and c.cells[position].size >= _DONE * c.tested[position]
            and c.broken * 10 <= c.cells[position].size
            for c in found
        )

    def _rings(self, group: Group, parsed: dict[str, Parsed], who: int) -> Iterator[list[Mutation]]:
        """The changes that fit best on a few patients with mismatches, a block at a time.

        Those of the target's own SQL first, then those of what it reads, and so on.
        """
        patients = few(self.table, group.positions, who)
        if not patients:
            return
        bench = self._bench(patients)
        sample = self._sample(bench, patients, who)
        tested = sum(sample.tested(p) for p in group.positions)
        if not tested:
            return
        columns = [column_at(self.table, p) for p in group.positions if p != KEYS]
        promoted = Promoted()
        near: set[str] = set()
        rings = by_distance(self.target, group.sliced)
        for far, names in rings:
            near |= names
            ring = self._ring(group, parsed, bench, near, names)
            self._pools.setdefault(id(group), []).extend(ring)
            self.total += len(ring)
            for start in range(0, len(ring), _BLOCK):
                scored: list[Scored] = []
                for number, mutation in enumerate(ring[start : start + _BLOCK], start=start):
                    if time.monotonic() > self._until:
                        self.cut_short = True
                        self._left.update(q for m in ring[number:] for q in m.queries)
                        self._left.update(q for at, more in rings if at > far for q in more)
                        break
                    self._say()
                    outcome = self._try(
                        bench, sample, mutation, parsed, group.sliced, columns, patients
                    )
                    if outcome is not None:
                        cells = {
                            (p, int(row))
                            for p in group.positions
                            for row in outcome.cells.get(p, ())
                        }
                        if len(cells) > outcome.broken:
                            scored.append(Scored(mutation, number, cells, outcome.broken))
                yield promoted.take(scored)
                if self.cut_short:
                    return

    def _say(self) -> None:
        if self.job is not None:
            self.job.check()
            self.job.progress(
                "changes",
                self.tried,
                max(self.total, self.tried),
                f"{self.tried:,} changes of the reference's SQL tried",
            )
        self.tried += 1

    def _ring(
        self,
        group: Group,
        parsed: dict[str, Parsed],
        bench: Bench,
        near: Set[str],
        names: Set[str],
    ) -> list[Mutation]:
        """The changes of `names`, perhaps together with what lies nearer: the likelier first.

        What bears on more of the columns comes earlier; what drops one of very many, or takes
        another item for one, later: that an item is left out is plainer.
        """
        found = all_mutations(parsed, group.sliced, bench.items, TARGET, near=near, ring=names)

        names = {column_at(self.table, p).name for p in group.positions if p != KEYS}

        def rank(mutation: Mutation) -> tuple[bool, bool, int, int, int]:
            bears = sum(
                all(e.number in own.nodes.get(e.query, ()) for e in mutation.edits)
                for own in group.own.values()
            )
            item = _item(mutation)
            often = bench.items[item].count if item in bench.items else 0
            swapped = "how" in mutation.parameters
            named = not names.isdisjoint(mutation.about)
            return (
                len(mutation.edits) == 1 or swapped,
                ((mutation.rare and not often) or swapped) and not named,
                -named,
                -bears,
                -often,
            )

        # An item that no event of these patients has changes nothing.
        there = {None, *bench.items}
        if bench.items:
            found = [m for m in found if _item(m) in there]
        # A row of a list that speaks of columns which are all right is right.
        fine = {c.name for c in self.table.columns} - self._wrong
        found = [m for m in found if not (m.about & fine) or m.about & self._wrong]
        return sorted(found, key=rank)

    @functools.cached_property
    def _defined(self) -> str:
        """Hash of the SQL of the target and of all that it rests on."""
        order = (*concept_graph().order(self.target.concepts), self.target)
        return key_of(self.target.name, [query.sql for query in order])

    @functools.cached_property
    def _wrong(self) -> set[str]:
        """Columns with a mismatch."""
        return {c.name for c in self.table.columns if c.wrong}

    def _second_round(
        self, mutation: Mutation, parsed: dict[str, Parsed], who: int
    ) -> Candidate | None:
        """A change on all patients (of a large source: on some), in all columns."""
        patients = many(self.table, who)
        bench = self._bench(patients)
        sample = self._sample(bench, patients, who)
        columns = [c for c in self.table.columns if not c.lacking]
        if self._whole is None:
            target = replace(self.target, name=TARGET)
            names = [c.name for c in columns]
            self._whole = slice_for(concept_graph(), target, parsed, names, rows=True)
        outcome = self._try(bench, sample, mutation, parsed, self._whole, columns, patients)
        if outcome is None or outcome.explained <= outcome.broken:
            return None
        positions = [c.position for c in columns] + [KEYS]
        return Candidate(
            id=mutation.id,
            words=f"Consistent with {mutation.words}.",
            predicts="what the reference's SQL gives with "
            + ("these changes together" if BESIDES in mutation.parameters else "this one change"),
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
        key = key_of(self.digest, self._defined, mutation.key, patients, names)
        known, changed = self.cache.get(key)
        if not known:
            seconds = _FINAL_SECONDS if patients is None else _QUERY_SECONDS
            changed = bench.run(mutation, parsed, sliced, names, seconds=seconds, job=self.job)
            self.cache.put(key, changed, lasting=not bench.failed)
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


def _item(mutation: Mutation) -> int | None:
    """The item that a change leaves out of a list, if that is what it does."""
    gone = str(mutation.parameters.get("without", ""))
    is_list = mutation.id == "item-set" and "itemid" in mutation.before and gone.isdigit()
    return int(gone) if is_list else None
