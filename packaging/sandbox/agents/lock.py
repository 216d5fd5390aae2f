"""Writes each package-lock.json anew: exact versions and integrity hashes, no download addresses.

``python packaging/sandbox/agents/lock.py [NAME…]`` needs npm and its registry. The packages that
an agent's package.json names run alone (they are bundles), so what they ask for beside is left
out: it would treble the download.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
_ASKED_FOR = ("dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta")


def lock(folder: Path) -> int:
    """Lock one agent; the number of packages in its lock."""
    file = folder / "package-lock.json"
    file.unlink(missing_ok=True)
    words = ["npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(words, cwd=folder, check=True)
    document = json.loads(file.read_text(encoding="utf-8"))
    named = document["packages"][""]
    wanted = {
        f"node_modules/{name}"
        for kind in ("dependencies", "optionalDependencies")
        for name in named.get(kind, {})
    }
    kept = {"": named}
    for place in sorted(wanted):
        package = document["packages"][place]
        kept[place] = {
            key: value
            for key, value in package.items()
            if key not in _ASKED_FOR and key != "resolved"
        }
    document["packages"] = kept
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return len(kept) - 1


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(entry.name for entry in HERE.iterdir() if entry.is_dir()):
        sys.stdout.write(f"{each}: {lock(HERE / each)} packages\n")
