"""A small MIMIC-IV-shaped folder that tests can spoil."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.base.jobs import SimpleJob
from engine.base.paths import Home, open_home
from engine.sources import SourceInfo, add_source, find_source, open_source

TABLES: dict[str, str] = {
    "hosp/patients.csv": (
        "subject_id,gender,anchor_age,anchor_year,anchor_year_group,dod\n"
        "10,F,71,2150,2011 - 2013,2151-02-03\n"
        "11,M,44,2140,2014 - 2016,\n"
    ),
    "hosp/d_labitems.csv": (
        'itemid,label,fluid,category\n50801,"Gradient, a",Blood,Blood Gas\n50802,Base,Blood,NA\n'
    ),
    "icu/icustays.csv": (
        "subject_id,hadm_id,stay_id,first_careunit,last_careunit,intime,outtime,los\n"
        "10,20,30,MICU,MICU,2150-01-01 10:00:00,2150-01-03 10:00:00,2\n"
        "11,21,31,SICU,SICU,2140-05-01 00:00:00,,\n"
    ),
    "icu/chartevents.csv": (
        "subject_id,hadm_id,stay_id,caregiver_id,charttime,storetime,itemid,value,valuenum,"
        "valueuom,warning\n"
        "10,20,30,1,2150-01-01 11:00:00,2150-01-01 11:05:00,220045,80,80,bpm,0\n"
        "10,20,30,,2150-01-01 12:00:00,2150-01-01 12:05:00,220045,81.5,81.5,bpm,0\n"
        '10,20,30,1,2150-01-01 13:00:00,2150-01-01 13:05:00,223900,"Alert, ""ok""",,,1\n'
    ),
}


@dataclass
class Folder:
    """A source folder of a test's own."""

    root: Path
    home: Home
    messages: list[str] = field(default_factory=list)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def gzip(self, name: str) -> Path:
        """Compress a file in place."""
        path = self.root / name
        packed = path.with_name(path.name + ".gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        return packed

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def add(self, name: str = "mini", **options: object) -> SourceInfo:
        job = SimpleJob(on_message=self.messages.append)
        return add_source(self.home, name, self.root, job=job, **options)  # type: ignore[arg-type]


@pytest.fixture
def home(home_dir: Path) -> Home:
    return open_home(home_dir)


@pytest.fixture
def mini(tmp_path: Path, home: Home) -> Folder:
    folder = Folder(tmp_path / "input", home)
    for name, text in TABLES.items():
        folder.write(name, text)
    return folder


@pytest.fixture
def rows_of(home: Home) -> Callable[..., list[tuple[object, ...]]]:
    """Query a finished source."""

    def query(sql: str, name: str = "mini") -> list[tuple[object, ...]]:
        con = open_source(find_source(home, name))
        try:
            return con.execute(sql).fetchall()
        finally:
            con.close()

    return query
