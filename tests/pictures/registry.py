"""What is there to be photographed: scenes by name, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pictures.stage import Stage

Play = Callable[["Stage"], None]


@dataclass(frozen=True)
class Scene:
    """Something that is shown, in one or more pictures."""

    name: str
    """``GROUP-WHAT``: begins the names of its pictures."""
    words: str
    """What is seen, in a line."""
    runs: tuple[str, ...]
    """Runs of the home that it needs (`home.RUNS`)."""
    play: Play
    """Sets it up and takes the pictures."""
    alone: bool = False
    """Does it need a window of its own, because what it does to one stays?"""


SCENES: dict[str, Scene] = {}
"""By name."""


def scene(name: str, words: str, *runs: str, alone: bool = False) -> Callable[[Play], Play]:
    """Register a function as a scene."""

    def keep(play: Play) -> Play:
        assert name not in SCENES, name
        SCENES[name] = Scene(name, words, runs, play, alone)
        return play

    return keep


def chosen(patterns: Sequence[str]) -> list[str]:
    """Names of the scenes that fit one of the patterns (all without one): ``diff``, ``diff-s*``.

    Raises:
        ValueError: a pattern fits none.
    """
    names: dict[str, None] = {}
    for pattern in patterns or ("*",):
        fit = [n for n in SCENES if n.startswith(f"{pattern}-") or fnmatch(n, pattern)]
        if not fit:
            raise ValueError(f"No scene is called {pattern}; --list names them.")
        names.update(dict.fromkeys(fit))
    return [name for name in SCENES if name in names]
