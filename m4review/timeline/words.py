"""Roles and times of a timeline in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from engine.diagnosis.lineage import CellLineage, Event, Role, Window
from engine.diagnosis.lineage.model import EPOCH
from m4review.diff.words import words_of

ROLES: tuple[Role, ...] = ("decisive", "entered", "outside", "rejected", "missed")
"""In the order in which they are shown."""

NO_TIME = "no time recorded"
_BREAK = "\u200b"
"""Takes no room, and a line may end there."""

_LONGEST = 24
"""Characters of a text beside a mark."""
_IN_BAR = 60
"""The same where there is a bar for it."""
_DIGITS = 1000
"""From here on a number's parts are no part of its first four digits."""
_PLAIN = re.compile(r"(?:[a-z][a-z ]*:(?:\s+|$))+")
_JOINT = re.compile(r"[._(,](?=\w)")
_WORD = re.compile(rf"[^\s{_BREAK}]{{30}}")


@dataclass(frozen=True)
class Look:
    """How a role looks: never by colour alone."""

    symbol: str
    """pyqtgraph's name of the shape."""
    filled: bool
    """Filled, or an outline?"""
    colour: str
    """Name of a theme colour."""
    size: int
    """Pixels at 100 %."""
    words: str
    """One word or two for the legend."""
    about: str
    """What it means."""


LOOKS: Mapping[Role, Look] = {
    "decisive": Look(
        "o", True, "accent", 11, "used", "The value comes out the same from these rows alone."
    ),
    "entered": Look(
        "s", False, "good", 10, "compared", "Took part (was compared, "
        "counted, or kept another row out) without deciding."
    ),
    "outside": Look(
        "t", False, "muted", 10, "outside", "A sound measurement, but of another time, specimen "
        "or episode."
    ),
    "rejected": Look("x", True, "different", 11, "rejected", "Refused by a rule of the reference."),
    "missed": Look(
        "d", False, "extra", 11, "not read", "A similar item that the reference does not read."
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Clock:
    """How times of one cell are told and drawn."""

    origin: datetime
    """Hour 0 of the picture."""
    offsets: bool
    """Told as hours from unit admission; else as date and time."""

    @property
    def about(self) -> str:
        """What the times are."""
        return "hours from unit admission" if self.offsets else "date and time of the source"

    def hours(self, at: datetime) -> float:
        """Hours since the origin."""
        return (at - self.origin).total_seconds() / 3600

    def told(self, at: datetime | None) -> str:
        """A time in words."""
        if at is None:
            return "–"
        if self.offsets:
            minutes = round((at - EPOCH).total_seconds() / 60)
            sign = "−" if minutes < 0 else ""
            hours, rest = divmod(abs(minutes), 60)
            return f"{sign}{hours:,} h {rest:02} min"
        return at.strftime("%Y-%m-%d %H:%M:%S" if at.second else "%Y-%m-%d %H:%M")

    def of_hours(self, hours: float) -> str:
        """The time at an x of the picture, in words; it may lie beyond every calendar."""
        try:
            return self.told(self.origin + timedelta(minutes=round(hours * 60)))
        except OverflowError:
            return ""


def clock_of(lineage: CellLineage, *, offsets: bool) -> Clock:
    """Origin: unit admission for offsets, else the midnight before the stay or the first event."""
    if offsets:
        return Clock(EPOCH, offsets=True)
    times = [at for at in (lineage.stay[0], *(w.start for w in lineage.windows)) if at is not None]
    times = times[:1] or [e.start for e in lineage.events if e.start is not None][:1]
    first = times[0] if times else EPOCH
    return Clock(datetime(first.year, first.month, first.day), offsets=False)  # noqa: DTZ001


def value_words(event: Event) -> str:
    """An event's value with its unit."""
    if event.number is not None:
        return f"{event.number:.6g} {event.unit}".rstrip()
    return f"{words_of(event.value)} {event.unit}".rstrip()


def mark_words(event: Event) -> str:
    """An event's value with its unit, as short as it is read beside a mark: 4 digits of a part."""
    number = event.number
    if number is None:
        words = f"{words_of(event.value)} {event.unit}".rstrip()
        most = _LONGEST if event.end is None else _IN_BAR
        return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"
    whole = number == round(number) or abs(number) >= _DIGITS
    return f"{round(number) if whole else f'{number:.4g}'} {event.unit}".rstrip()


def told_first(rule: str) -> tuple[str, str]:
    """The plain words that a rule begins with, with their colons, and its condition.

    Either is empty where there is none: a rule may be a condition alone, or words alone.
    """
    found = _PLAIN.match(rule)
    words = found[0].rstrip() if found else ""
    return words, rule[len(words) :].lstrip() if words else rule


def breakable(text: str) -> str:
    """A rule or name that can be broken into lines where SQL is; no word is too long for a line."""
    return _WORD.sub(rf"\g<0>{_BREAK}", _JOINT.sub(rf"\g<0>{_BREAK}", text))


def searched(event: Event) -> str:
    """Everything that an event can be found by, in small letters."""
    parts = (
        LOOKS[event.role].words, event.item, event.item_id, value_words(event), event.table,
        " ".join(event.rule.split()), *event.columns, "" if event.start else NO_TIME,
    )  # fmt: skip
    return "\n".join(parts).casefold()


def event_words(event: Event, clock: Clock) -> str:
    """An event in some lines, for a tool tip."""
    look = LOOKS[event.role]
    when = clock.told(event.start) if event.start else NO_TIME
    if event.end is not None:
        when += f" to {clock.told(event.end)}"
    lines = [f"{event.item or event.table}: {value_words(event)}", when, f"{look.words}: "]
    lines[-1] += event.rule or look.about
    return "\n".join(lines)


def is_moment(window: Window) -> bool:
    """Does the window begin and end at the same time?"""
    return window.start is not None and window.start == window.end


def span_words(window: Window, clock: Clock) -> str:
    """A window as times of the source."""
    if is_moment(window):
        at = clock.told(window.start)
        if any(window.without):
            return f"{at}: it ends where it begins and leaves that out, so that nothing is in it"
        return f"{at} alone: it ends where it begins"
    if window.start is None and window.end is None:
        return "any time"
    if window.start is None:
        return f"up to {clock.told(window.end)}"
    if window.end is None:
        return f"from {clock.told(window.start)} on"
    return f"{clock.told(window.start)} to {clock.told(window.end)}"


def hours_words(hours: float) -> str:
    """Hours with their sign."""
    return f"{hours:+.4g} h".replace("-", "−") if hours else "0 h"


def window_words(window: Window, stay: tuple[datetime | None, datetime | None]) -> str:
    """A window as hours from the unit admission; empty where one of the two is not known."""
    admitted = stay[0]
    if admitted is None or (window.start is None and window.end is None):
        return ""

    def hours(at: datetime) -> str:
        return hours_words((at - admitted).total_seconds() / 3600)

    if is_moment(window):
        return f"{hours(window.start or admitted)} from unit admission"
    if window.start is None or window.end is None:
        return (
            f"from {hours(window.start)} on"
            if window.start is not None
            else f"up to {hours(window.end or admitted)}"
        ) + " (from unit admission)"
    return f"{hours(window.start)} to {hours(window.end)} from unit admission"


def verified_words(lineage: CellLineage) -> str:
    """Whether the picture was proven, in a sentence."""
    if lineage.verified:
        return "✓ Verified: computed again from the used rows alone, the value came out the same."
    return (
        "✗ Not verified: computed again from the used rows alone, the value did not come out "
        "the same. Take the marks as a hint only."
    )
