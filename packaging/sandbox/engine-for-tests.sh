#!/usr/bin/env bash
# Starts a Docker engine of its own, runs the given command with M4REVIEW_TEST_DOCKER naming it,
# and ends the engine with all that it runs:
#
#     packaging/sandbox/engine-for-tests.sh make test
#
# Needs root; on Debian and Ubuntu the engine, and a registry for tests that fetch from one, are
# installed if they are missing. The engine lives in a network namespace of its own, so that neither
# it nor a container reaches anything, and the machine's own engine and firewall are not touched.
# Exit status: the command's; 4 if there can be no engine.
set -euo pipefail

say() { echo "[engine] $*" >&2; }
[ "$#" -gt 0 ] || { say "usage: engine-for-tests.sh COMMAND…"; exit 2; }
[ "$(id -u)" = 0 ] || { say "This needs root (an engine of one's own)."; exit 4; }

PATH="$PATH:/usr/sbin:/sbin"
missing=()
command -v dockerd >/dev/null || missing+=(docker.io)
command -v docker-registry >/dev/null || missing+=(docker-registry)
if [ "${missing[*]}" = docker-registry ] && ! command -v apt-get >/dev/null; then
    say "There is no docker-registry: tests that fetch from one are skipped."
elif [ "${#missing[@]}" -gt 0 ]; then
    command -v apt-get >/dev/null || { say "Install a Docker engine (dockerd) first."; exit 4; }
    say "Installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq -o DPkg::Lock::Timeout=300 >/dev/null || true
    # Its service is not to start: where there is no systemd, trying would fail the install.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
        trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    fi
    apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "${missing[@]}" \
        </dev/null >/dev/null || { say "Not to be installed: ${missing[*]}."; exit 4; }
    if [ "$(trap -p EXIT)" ]; then rm -f "$policy"; trap - EXIT; fi
fi

place=$(mktemp -d /var/tmp/m4review-engine-XXXXXX)
chmod 711 "$place"
socket="$place/docker.sock"

finish() {
    set +e
    if [ -s "$place/pid" ] && pid=$(cat "$place/pid") && kill "$pid" 2>/dev/null; then
        for _ in $(seq 300); do
            [ -e "/proc/$pid" ] || break
            sleep 0.1
        done
    fi
    grep -o " $place/[^ ]*" /proc/self/mounts | sort -r | while read -r mount; do
        umount -l "$mount"
    done
    rm -rf "$place"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

cgroups=/sys/fs/cgroup
if [ "$(stat -fc %T "$cgroups")" = tmpfs ] && ! grep -q " $cgroups/memory " /proc/self/mounts; then
    # A machine (or container) without systemd that has not laid out version 1 yet.
    for name in cpuset cpu cpuacct blkio memory devices freezer pids; do
        grep -q "^$name[[:space:]]" /proc/cgroups || continue
        mkdir -p "$cgroups/$name"
        mountpoint -q "$cgroups/$name" || mount -t cgroup -o "$name" cgroup "$cgroups/$name"
    done
fi

setsid unshare --net dockerd --data-root "$place/data" --exec-root "$place/exec" \
    --pidfile "$place/pid" -H "unix://$socket" --storage-driver overlay2 \
    --exec-opt native.cgroupdriver=cgroupfs >"$place/log" 2>&1 </dev/null &
for _ in $(seq 240); do
    if [ -S "$socket" ] && [ -s "$place/pid" ] && grep -q "API listen on" "$place/log"; then
        ready=1
        break
    fi
    kill -0 $! 2>/dev/null || break
    sleep 0.25
done
[ "${ready:-}" ] || { say "The engine did not start:"; tail -n 20 "$place/log" >&2; exit 4; }
say "$(dockerd --version) is up"

status=0
M4REVIEW_TEST_DOCKER="unix://$socket" "$@" || status=$?
exit "$status"
