#!/bin/sh
# Start bootstrap.py with any Python 3 there is; it looks for the right one itself.
# usage: setup.sh run|dev
for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    if command -v "$python" >/dev/null 2>&1; then
        exec "$python" "$(dirname "$0")/bootstrap.py" "$@"
    fi
done
echo "[setup] Python 3.11 or newer is needed: apt-get install python3" >&2
exit 4
