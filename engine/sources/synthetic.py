"""A synthetic source: generated as a PhysioNet-style folder, then imported like any other."""

from __future__ import annotations

import shutil

from engine.base.errors import UsageError
from engine.base.files import os_error
from engine.base.jobs import Job, SimpleJob
from engine.base.paths import Home
from engine.sources.adding import add_source
from engine.sources.info import SourceInfo
from engine.sources.registry import check_new
from engine.sources.schema import KINDS, Kind


def synthesize_source(
    home: Home,
    name: str,
    *,
    kind: Kind | str,
    stays: int,
    seed: int = 1,
    job: Job | None = None,
) -> SourceInfo:
    """Make `stays` synthetic ICU stays of `kind` from `seed` and register them as `name`.

    Raises:
        UsageError: the name is not allowed or taken, or the kind is unknown.
        Busy, StorageFull, Cancelled: as `add_source`.
    """
    from engine.sources.synth import make  # noqa: PLC0415 - heavy; only when asked for

    if kind not in KINDS:
        raise UsageError(
            "This kind of source is not known.", todo=f"Use one of {', '.join(KINDS)}."
        )
    check_new(home, name)
    job = job or SimpleJob()
    folder = home.scratch / f"synth-{name}"
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    except OSError as error:
        raise os_error(error, "making a synthetic source") from error
    try:
        make(kind, stays, seed, folder, job)
        return add_source(home, name, folder, kind=kind, job=job, synthetic=True)
    except OSError as error:
        raise os_error(error, "making a synthetic source") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
