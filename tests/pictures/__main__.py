"""`make pictures`: every screen of the error analysis, in every setting; see the README."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from demo_data import ROOT
from PySide6.QtGui import QFontDatabase, QGuiApplication, QImage
from rich.console import Console

from pictures.home import make_home
from pictures.images import Tile, save, sheet
from pictures.process import Outcome, photograph
from pictures.scenes import SCENES, chosen
from pictures.settings import SETTINGS

console = Console(highlight=False, soft_wrap=True, markup=False)
_begun = time.monotonic()


def say(text: str) -> None:
    """One line for the developer, with the time since the beginning."""
    console.print(f"{time.monotonic() - _begun:6.0f} s  {text}")


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make pictures ARGS=…", description=__doc__)
    parser.add_argument("scenes", nargs="*", help="names, beginnings (diff) or patterns (*-top)")
    parser.add_argument("--out", type=Path, default=Path("out/pictures"), help="folder")
    parser.add_argument("--setting", action="append", choices=SETTINGS, help="only these")
    parser.add_argument("--colour-blind", action="store_true", help="three simulations beside each")
    parser.add_argument(
        "--sheets", action="store_true", help="one sheet per picture, four settings"
    )
    parser.add_argument("--fresh", action="store_true", help="make the home anew")
    parser.add_argument("--list", action="store_true", help="name the scenes and end")
    options = parser.parse_args(given)
    try:
        options.scenes = chosen(options.scenes)
    except ValueError as error:
        parser.error(str(error))
    return options


def make_sheets(out: Path, pictures: Sequence[str]) -> int:
    """Light and dark, at 100 % and 200 %, on one sheet per picture; the number of sheets."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QGuiApplication.instance() or QGuiApplication([])
    QFontDatabase.addApplicationFont(str(ROOT / "resources" / "fonts" / "Inter_400Regular.ttf"))
    made = 0
    for name in pictures:
        rows = [
            [_tile(out, f"{theme}-{size}", name) for size in ("100", "200")]
            for theme in ("light", "dark")
        ]
        if any(tile.image is not None for row in rows for tile in row):
            save(sheet(rows), out / "sheets" / f"{name}.png")
            made += 1
    del application
    return made


def _tile(out: Path, setting: str, name: str) -> Tile:
    image = QImage(str(out / setting / f"{name}.png"))
    return Tile(f"{name}  {setting}", None if image.isNull() else image)


def main(given: Sequence[str]) -> int:
    """Take the pictures; 1 where a scene failed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the process at work ends with it
    options = arguments(given)
    if options.list:
        for name in options.scenes:
            console.print(f"{name:22} {SCENES[name].words}")
        return 0
    out = options.out.resolve()
    home = out / "home"
    if options.fresh:
        shutil.rmtree(home, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    make_home(home, say)
    whole = Outcome()
    for name in options.setting or SETTINGS:
        outcome = photograph(
            SETTINGS[name], options.scenes, folder=out, home=home,
            blind=options.colour_blind and SETTINGS[name].ratio == 1, say=say,
        )  # fmt: skip
        whole.add(outcome)
    if options.sheets:
        say(f"{make_sheets(out, whole.pictures)} sheets")
    for what, found in (("left out", whole.left), ("FAILED", whole.failed)):
        for name, why in found.items():
            say(f"{what}: {name}: {why}")
    say(f"{len(whole.pictures)} pictures of {len(options.scenes)} scenes are in {out}")
    return 1 if whole.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
