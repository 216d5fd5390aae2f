"""What the areas of one chunk of stays share, and points of time at which something is charted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.sources.synth.body import Body, make_body
from engine.sources.synth.cohort import HOUR, Cohort, make_cohort
from engine.sources.synth.course import Course, make_course
from engine.sources.synth.seeds import Array, Streams
from engine.sources.synth.ventilation import Support, make_support


@dataclass(frozen=True)
class Points:
    """Moments of stays, one entry per moment."""

    stay: Array
    """Index of the stay in the cohort."""
    at: Array
    """Hour of the course that holds then."""
    time: Array
    """Seconds since 1970."""

    def __len__(self) -> int:
        return len(self.stay)

    def __getitem__(self, which: Array) -> Points:
        """Some of them, by booleans or positions."""
        return Points(self.stay[which], self.at[which], self.time[which])

    def of(self, values: Array) -> Array:
        """Values (stays by hours) at these moments."""
        return values[self.stay, self.at]


@dataclass(frozen=True)
class World:
    """One chunk: who, in what course, on what support, looking how."""

    streams: Streams
    """Random streams of the chunk."""
    cohort: Cohort
    """Patients, admissions, stays."""
    course: Course
    """Hidden course."""
    support: Support
    """Respiratory support."""
    body: Body
    """Visible signs."""

    def hourly(self, due: Array, rng: np.random.Generator, odd: float = 0.05) -> Points:
        """The moments where `due` (stays by hours) holds; a share lies at an odd minute."""
        stay, at = np.nonzero(due & self.course.valid)
        time = self.course.first[stay] + at * HOUR
        strays = rng.random(len(stay)) < odd
        return Points(stay, at, time + np.where(strays, rng.integers(1, 60, len(stay)) * 60, 0))

    def points(self, stay: Array, time: Array) -> Points:
        """Moments at any time; before and after the stay its first and last hour hold."""
        at = (time - self.course.first[stay]) // HOUR
        return Points(stay, np.clip(at, 0, self.cohort.hours[stay] - 1), time)


def make_world(streams: Streams, stays: int) -> World:
    """One chunk of stays."""
    cohort = make_cohort(streams, stays)
    course = make_course(streams, cohort)
    support = make_support(streams, cohort, course)
    return World(streams, cohort, course, support, make_body(streams, cohort, course, support))
