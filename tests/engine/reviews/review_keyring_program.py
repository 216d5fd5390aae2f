"""Run under a Secret Service of its own: an identity that another process can sign with."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

from engine.base.paths import open_home
from engine.cli.main import run
from engine.reviews.identity import my_signer
from engine.reviews.place import place_of

home = Path(sys.argv[1])
if len(sys.argv) > 2:
    signer = my_signer(place_of(open_home(home)))
    sys.stdout.write(signer.author)
    secrets = [signer._seal, signer._key.private_bytes_raw()]
    secrets += [base64.b64encode(part)[:40] for part in secrets]
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    assert not [data for data in files if any(secret in data for secret in secrets)]
    sys.exit()
assert run(["--home", str(home), "review", "identity", "--name", "Anna", "--role", "x"]) == 0
again = [sys.executable, __file__, str(home), "again"]
author = subprocess.run(again, check=True, capture_output=True, text=True).stdout.strip()
assert (home / "reviews" / "ledger" / author).is_dir()
sys.stdout.write("signed")
