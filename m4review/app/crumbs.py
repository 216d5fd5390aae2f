"""The way to a place, as the bar at the top tells it."""

from __future__ import annotations

from m4review.app.links import REVIEWS, RUNS, WORKLIST, Place

Trail = list[tuple[str, Place | None]]
"""Words and where they lead; the last one is where one is."""


def trail(place: Place, title: str, run_title: str) -> Trail:
    """The way to a place.

    Args:
        place: where one is.
        title: what its screen calls itself.
        run_title: what the run page calls the run of this place; empty where it shows another.
    """
    match place.screen:
        case "task":
            return [("Worklist", WORKLIST), (place.name, None)]
        case "launch" | "edit" | "evidence":
            here = {"launch": "New run", "evidence": "Evidence"}.get(place.screen, title)
            return [("Worklist", WORKLIST), _task(place.name), (here, None)]
        case "review" | "adjudicate":
            return _review(place)
        case "run":
            return [("Runs", RUNS), (title or place.name, None)]
        case "diff":
            return [("Runs", RUNS), _run(place, run_title), ("Diff", None)]
        case "diagnosis":
            return [("Runs", RUNS), _run(place, run_title), ("What went wrong", None)]
        case "timeline" if place.row is None:
            return [("Worklist", WORKLIST), _task(place.name), ("Where a value comes from", None)]
        case "timeline":
            diff = Place("diff", place.name, place.row)
            return [("Runs", RUNS), _run(place, run_title), ("Diff", diff), ("Value", None)]
        case "compare":
            return [("Runs", RUNS), (title, None)]
        case _:
            return [(title, None)]


def _review(place: Place) -> Trail:
    if place.screen == "review":
        return [("Reviews", REVIEWS), (place.name, None)]
    return [("Reviews", REVIEWS), (place.name, Place("review", place.name)), ("Decide", None)]


def _task(name: str) -> tuple[str, Place]:
    return (name, Place("task", name))


def _run(place: Place, title: str) -> tuple[str, Place]:
    return (title or place.name, Place("run", place.name))
