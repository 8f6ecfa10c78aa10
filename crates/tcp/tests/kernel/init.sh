#!/bin/sh
# The first process of the kernel that is measured. Its root is this machine's own, read-only.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin

# Where an ordinary user runs this, root's files look like somebody else's: mount's set-user-ID bit
# would make it that somebody.
mount_as_root() { setpriv --no-new-privs mount "$@"; }
mount_as_root -t proc proc /proc
mount_as_root -t sysfs sysfs /sys
mount_as_root -t tmpfs tmpfs /run

# modprobe looks for modules below `lib/modules` of the folder that it is told.
mkdir /run/lib
ln -s /usr/lib/uml/modules /run/lib/modules
modprobe -d /run -a veth sch_netem

/usr/bin/python3 "$(dirname "$0")/transfers.py" "$RUNS" || echo "failed: $?"
# The kernel ends with its first process.
