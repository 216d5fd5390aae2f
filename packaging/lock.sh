#!/bin/sh
# Pin every package with its hashes, for all platforms and Pythons that we support.
# The two files hold the same versions; the second adds what development needs.
set -eu
cd "$(dirname "$0")/.."
pin() {
    UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile pyproject.toml \
        --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
        --no-annotate --quiet "$@"
}
pin --group build --output-file requirements.lock
pin --group dev --constraint requirements.lock --output-file requirements-dev.lock
