#!/bin/sh
# Measures how long a Linux kernel's TCP takes for transfers, for
# crates/tcp/tests/behaviour/calibration.rs.
#
#   crates/tcp/tests/kernel/measure.sh [RUNS] > kernel.csv
#
# The kernel is Debian's user-mode Linux, which runs as a process with this machine's files as its
# root, read-only; hosts and links are network namespaces inside it. Needs Debian and the packages
# user-mode-linux, kmod, iproute2, ethtool and python3; no root. Its clock is this machine's: other
# work should wait, or the kernel be given a real-time priority (chrt -f 10).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

linux.uml mem=512M quiet panic=-1 con=null con0=null,fd:1 umid=tcp "uml_dir=$folder/" \
  root=/dev/root rootfstype=hostfs rootflags=/ ro "init=$here/init.sh" "RUNS=${1:-32}" \
  </dev/null >"$folder/console" 2>&1 || true
# The console ends lines as terminals do.
tr -d '\r' <"$folder/console" | sed -n 's/^row: //p' >"$folder/rows"
if ! grep -q '^end$' "$folder/rows"; then
  cat "$folder/console" >&2
  exit 1
fi
grep -v '^end$' "$folder/rows"
