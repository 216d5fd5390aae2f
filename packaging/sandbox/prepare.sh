#!/bin/sh
# Runs once inside the base while the image is built: packages, accounts, places; no set-user-ID.
set -eu
site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["platlib"])')
if [ -n "$(ls -A /m4/packages)" ]; then cp -R /m4/packages/. "$site/"; fi
rm -rf /m4/packages
python3 -c 'import duckdb, numpy, pandas'
mkdir -p /job /opt/agents /run/m4 /tmp /proc /sys /dev
chmod 1777 /tmp
grep -q ':65534:65534:' /etc/passwd || echo 'nobody:x:65534:65534::/job:/bin/sh' >>/etc/passwd
grep -q ':65534:' /etc/group || echo 'nogroup:x:65534:' >>/etc/group
find / -xdev -type f \( -perm -4000 -o -perm -2000 \) -exec chmod a-s {} +
rm -rf /root /home /var/log /var/lib/apt /var/lib/dpkg /var/cache /etc/shadow /etc/shadow- /etc/gshadow /etc/ssh
mkdir -p /root /home /var/log
