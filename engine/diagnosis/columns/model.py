"""What is said of a column. Plain frozen values; conditions select rows of the table ``diff``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bar:
    """Rows counted together."""

    words: str
    """What they have in common; may hold values of the column."""
    count: int
    """How many."""
    condition: str
    """SQL condition over ``diff`` that selects just them."""
    low: float | None = None
    """Lower end in the column's unit (seconds for times); None where there is none."""
    high: float | None = None
    """Upper end, not included; None where there is none."""


@dataclass(frozen=True)
class Histogram:
    """Agent - reference over the pairs that have both values and are not equal."""

    bars: tuple[Bar, ...]
    """Ascending; together they hold every such pair. The outermost ones may be open."""
    discrete: bool
    """Each bar is one difference (few are there), not an interval."""
    equal: Bar
    """The pairs that are exactly equal; not among the bars."""
    n: int
    """Pairs in the bars."""
    mean: float | None
    """Of the finite ones."""
    median: float | None
    """Of the finite ones."""
    smallest: float | None
    """Of the finite ones."""
    largest: float | None
    """Of the finite ones."""
    positive: int
    """Pairs in which the agent's value is larger."""


@dataclass(frozen=True)
class MatrixCell:
    """How often two levels meet."""

    reference: int
    """Number of the reference's level in `Confusion.levels`."""
    agent: int
    """Number of the agent's level."""
    count: int
    """Rows."""
    condition: str
    """SQL condition over ``diff``."""


@dataclass(frozen=True)
class Confusion:
    """Levels of the reference against levels of the agent, over all rows of the diff."""

    levels: tuple[str, ...]
    """In order; the last three are other values, null and no such cell."""
    cells: tuple[MatrixCell, ...]
    """Those that are not 0, by reference and agent."""
    others: int
    """Distinct values that are counted together as "other"."""

    @property
    def named(self) -> int:
        """How many of `levels` are single values."""
        return len(self.levels) - 3


@dataclass(frozen=True)
class Axis:
    """One axis of a picture of pairs."""

    low: float
    """Lower end; what lies below is in the first bin."""
    step: float
    """Width of a bin."""


@dataclass(frozen=True)
class Ratio:
    """How many times the reference's value the agent's is, where that is steady and not 1."""

    median: float
    """Of agent / reference over the pairs that differ."""
    low: float
    """First quartile."""
    high: float
    """Third quartile."""
    n: int
    """Pairs."""


@dataclass(frozen=True)
class Scatter:
    """Pairs of numbers in bins; both axes are one where the values are of one scale."""

    reference: Axis
    """Of the reference's values."""
    agent: Axis
    """Of the agent's."""
    bins: int
    """Along each axis."""
    cells: tuple[MatrixCell, ...]
    """Those that are not 0; `reference` and `agent` are numbers of bins."""
    beyond: int
    """Pairs outside the axes, counted in the outermost bins."""
    left_out: int
    """Pairs with an infinite value, not drawn."""
    ratio: Ratio | None = None
    """None where the values are not a steady multiple of each other."""


@dataclass(frozen=True)
class TolerancePoint:
    """The match rate at a tolerance."""

    tolerance: float
    """In the column's unit; seconds for times."""
    matches: int
    """Rows of the reference that would match."""
    rate: float
    """Of the reference's rows, 0 to 1."""


@dataclass(frozen=True)
class ColumnStudy:
    """All that the column page shows."""

    position: int
    """Number of the scored column."""
    reference_rows: int
    """Rows of the reference: what the match rate is a share of."""
    matches: int
    """Rows that match, as scored."""
    statuses: tuple[Bar, ...]
    """Cells by status, as scored; none of them 0."""
    nulls: tuple[Bar, ...]
    """Of the keys that both have: both values, null on one side, on both; then the other keys."""
    confusion: Confusion | None
    """Where the column has few levels, or texts."""
    histogram: Histogram | None
    """Of differences; of time offsets where the column holds times; None for texts."""
    scatter: Scatter | None
    """For numbers of many values."""
    curve: tuple[TolerancePoint, ...]
    """Match rate against tolerance, ascending; empty for texts."""
    unknown: int
    """Pairs whose distance is not known (timestamps in an unusual spelling)."""

    @property
    def rate(self) -> float:
        """The match rate as scored."""
        return self.matches / self.reference_rows if self.reference_rows else 0.0
